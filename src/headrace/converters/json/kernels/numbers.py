"""Compiled encoders for integers and decimals, from their canonical texts.

Part of `headrace.converters.json.kernels.cells`, whose rules on memory apply. Eight digits are
handled at once in a 64-bit integer, the first character in the lowest byte.
"""

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.bytes_text import BASE64_PAIRS
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load32,
    load64,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.kernels.text import (
    DIGIT_ZEROS,
    POWERS_OF_TEN,
    are_digits,
    as_word,
    count_leading_zeros,
    divide,
    is_text_of_digits,
    parse_digits,
    put_int,
)

_DASH, _POINT, _QUOTE, _ZERO = ord("-"), ord("."), ord('"'), ord("0")
_COLON, _BRACE, _PAD = ord(":"), ord("}"), ord("=")
_PADS = as_word(b"==")
_SCALE, _VALUE = as_word(b'{"scale"'), as_word(b',"value"')
MAX_DIGITS = 1024
_MAX_FRACTION = 16383  # of any numeric
MAX_PADDING = 8


@part
def _fits(first, count, negative, size):  # type: ignore[no-untyped-def]
    """Whether an integer of `size` bytes (less than 0: unsigned) holds `count` digits."""
    if size == 8:
        high, last = parse_digits(first, 18), load8(first + 18) - _ZERO
        edge = 922337203685477580
        fits = high < edge or (high == edge and last <= 7 + negative)
        return count == 19 and high >= 0 and 0 <= last <= 9 and fits
    if count > 18:
        return False
    limit = (1 << (8 * size - 1)) - 1 + negative if size > 0 else (1 << (-8 * size)) - 1
    return 0 <= parse_digits(first, count) <= limit


@part
def put_raw_int(address, length, size, out):  # type: ignore[no-untyped-def]
    """Copy the text of an integer of `size` bytes (less than 0: unsigned, 0: any); -1 if it is not
    written as a JSON number of that size."""
    first = address
    if length > 0 and load8(address) == _DASH:
        first += 1
    count = address + length - first
    if size < 0 and first != address:
        return np.int64(-1)
    # Fewer digits than 19 / 8 of the bytes always fit.
    if size != 0 and 8 * count >= 19 * abs(size) and not _fits(first, count, first - address, size):
        return np.int64(-1)
    if count < 1 or (length > 1 and load8(first) == _ZERO):
        return np.int64(-1)
    if count <= 8:
        digits = (load64(first) ^ DIGIT_ZEROS) << (64 - 8 * count)
        if not is_text_of_digits(digits):
            return np.int64(-1)
        store64(out, load64(address))
        store8(out + 8, load8(address + 8))
        return out + length
    if not are_digits(first, count):
        return np.int64(-1)
    return copy(address, length, out)


@part
def put_integer_base64(value, out):  # type: ignore[no-untyped-def]
    """Quoted base64 of the shortest big-endian two's complement form of an int64."""
    size = (72 - count_leading_zeros(value ^ (value >> 63))) >> 3
    left = value << (64 - 8 * size)
    end = out + 1
    store8(out, _QUOTE)
    characters = divide(8 * size + 5, 6)
    for _ in range((characters + 1) >> 1):
        store16(end, np.int64(BASE64_PAIRS[(left >> 52) & 4095]))
        left <<= 12
        end += 2
    store16(out + 1 + characters, _PADS)
    end = out + 1 + 4 * divide(size + 2, 3)
    store8(end, _QUOTE)
    return end + 1


@part
def big_unscaled(address, whole, fraction, padding, negative, limbs):  # type: ignore[no-untyped-def]
    """Write the digits around a point and `padding` zeros after them as an integer at `limbs`:
    two's complement in the fewest bytes, lowest first. Returns the number of bytes; -1 if a
    character is not a digit."""
    count = whole + fraction + padding
    used = 0  # 32-bit limbs of the magnitude, lowest first
    for start in range(0, count, 9):
        group = np.int64(0)
        size = min(count - start, 9)
        for index in range(start, start + size):
            digit = np.int64(0)
            if index < whole + fraction:
                digit = load8(address + index + (1 if index >= whole else 0)) - _ZERO
                if digit < 0 or digit > 9:
                    return np.int64(-1)
            group = group * 10 + digit
        power = POWERS_OF_TEN[size]
        for limb in range(limbs, limbs + 4 * used, 4):
            group += load32(limb) * power
            store32(limb, group)
            group >>= 32
        if group:
            store32(limbs + 4 * used, group)
            used += 1
    store32(limbs + 4 * used, 0)
    size = 4 * used + 1
    if negative:
        carry = 1
        for place in range(limbs, limbs + size):
            carry += 255 - load8(place)
            store8(place, carry)
            carry >>= 8
    while size > 1:
        top = load8(limbs + size - 1)
        high_bit = load8(limbs + size - 2) >> 7
        if not ((top == 0 and high_bit == 0) or (top == 255 and high_bit == 1)):
            break
        size -= 1
    return np.int64(size)


@part
def _put_big_decimal(address, whole, fraction, padding, negative, out):  # type: ignore[no-untyped-def]
    """Write a decimal as `_put_unscaled` does, for any number of digits; the end of the output
    buffer is the scratch memory."""
    limbs = out + whole + fraction + 32
    size = big_unscaled(address, whole, fraction, padding, negative, limbs)
    if size < 0:
        return size
    store8(out, _QUOTE)
    out += 1
    while size > 0:
        bits = load8(limbs + size - 1) << 16
        if size > 1:
            bits |= load8(limbs + size - 2) << 8
        if size > 2:
            bits |= load8(limbs + size - 3)
        store16(out, np.int64(BASE64_PAIRS[bits >> 12]))
        store16(out + 2, np.int64(BASE64_PAIRS[bits & 4095]))
        out += 4
        size -= 3
    if size < 0:
        store8(out - 1, _PAD)
    if size < -1:
        store8(out - 2, _PAD)
    store8(out, _QUOTE)
    return out + 1


@part
def find_point(address, length):  # type: ignore[no-untyped-def]
    """Index of the first decimal point, or `length`."""
    for index in range(length):
        if load8(address + index) == _POINT:
            return index
    return length


@part
def _put_unscaled(address, whole, fraction, padding, negative, out):  # type: ignore[no-untyped-def]
    """Write base64 of the digits around a point and `padding` zeros after them."""
    count = whole + fraction + padding
    if count > 18:
        if count > MAX_DIGITS or padding > MAX_PADDING:
            return np.int64(-1)
        return _put_big_decimal(address, whole, fraction, padding, negative, out)
    value = parse_digits(address, whole)
    low = parse_digits(address + whole + 1, fraction)
    if (value | low) < 0:
        return np.int64(-1)
    value = (value * POWERS_OF_TEN[fraction] + low) * POWERS_OF_TEN[padding]
    return put_integer_base64(-value if negative else value, out)


@part
def put_decimal(address, length, scale, out):  # type: ignore[no-untyped-def]
    """Connect's Decimal: base64 of the unscaled value. -1: NaN, Infinity, or more digits after
    the point than the scale has."""
    negative = length > 0 and load8(address) == _DASH
    if negative:
        address += 1
        length -= 1
    if scale < 0 or scale > MAX_DIGITS:
        return np.int64(-1)
    if scale == 0:
        whole, fraction = length, np.int64(0)
    elif length > scale + 1 and load8(address + length - scale - 1) == _POINT:
        whole, fraction = length - scale - 1, scale
    else:
        whole = find_point(address, length)
        fraction = max(length - whole - 1, np.int64(0))
    if whole < 1 or fraction > scale or (fraction == 0 and whole < length):
        return np.int64(-1)
    return _put_unscaled(address, whole, fraction, scale - fraction, negative, out)


@part
def put_variable_decimal(address, length, out):  # type: ignore[no-untyped-def]
    """Debezium's VariableScaleDecimal, zeros at the end of the fraction stripped."""
    negative = length > 0 and load8(address) == _DASH
    if negative:
        address += 1
        length -= 1
    whole = find_point(address, length)
    fraction = length - whole - 1
    if whole < 1 or fraction == 0 or length > MAX_DIGITS:
        return np.int64(-1)
    while fraction > 0 and load8(address + whole + fraction) == _ZERO:
        fraction -= 1
    fraction = max(fraction, 0)
    store64(out, _SCALE)
    store8(out + 8, _COLON)
    end = put_int(fraction, out + 9)
    store64(end, _VALUE)
    store8(end + 8, _COLON)
    end = _put_unscaled(address, whole, fraction, np.int64(0), negative, end + 9)
    if end < 0:
        return end
    store8(end, _BRACE)
    return end + 1


@part
def _is_zero(address, length):  # type: ignore[no-untyped-def]
    for place in range(length):
        byte = load8(address + place)
        if byte not in (_ZERO, _POINT):
            return False
    return True


@part
def put_decimal_string(address, length, scale, out):  # type: ignore[no-untyped-def]
    """Plain decimal text in quotes; its fraction must have `scale` digits unless that is -1."""
    if scale > _MAX_FRACTION:
        return np.int64(-1)
    first = address
    if length > 0 and load8(address) == _DASH:
        first += 1
    count = address + length - first
    if scale > 0 and count > scale + 1 and load8(first + count - scale - 1) == _POINT:
        whole = count - scale - 1
    elif scale == 0:
        whole = count
    else:
        whole = find_point(first, count)
    fraction = count - whole - 1
    if whole < 1 or fraction == 0 or (scale >= 0 and max(fraction, 0) != scale):
        return np.int64(-1)
    if not are_digits(first, whole) or not are_digits(first + whole + 1, fraction):
        return np.int64(-1)
    if load8(first) == _ZERO and (whole > 1 or (first != address and _is_zero(first, count))):
        return np.int64(-1)
    store8(out, _QUOTE)
    out = copy(address, length, out + 1)
    store8(out, _QUOTE)
    return out + 1
