"""Compiled encoders of numbers from their texts to Avro's binary encoding, and readers of
floating-point texts.

The rules on memory are those of `headrace.converters.json.kernels.cells`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.avro import put_long
from headrace.connect.kernels.float_texts import float_bits
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8, store8, store64
from headrace.connect.kernels.text import POWERS_OF_TEN, count_leading_zeros, parse_digits
from headrace.converters.json.kernels.numbers import (
    MAX_DIGITS,
    MAX_PADDING,
    big_unscaled,
    find_point,
    put_raw_int,
)

_DASH, _POINT, _ZERO = ord("-"), ord("."), ord("0")


@part
def put_integer_text(address, length, size, out):
    """Write an integer of `size` bytes (less than 0: unsigned) from its digits; -1 if the text is
    not an integer, or does not fit into a long."""
    if put_raw_int(address, length, size if size else 8, out) < 0:
        return np.int64(-1)
    negative = load8(address) == _DASH
    if negative:
        address += 1
        length -= 1
    if length < 19:
        value = parse_digits(address, length)
        return put_long(-value if negative else value, out)
    if length > 19 or size < -4:
        return np.int64(-1)
    high, last = parse_digits(address, 18), load8(address + 18) - _ZERO
    return put_long(-10 * high - last if negative else 10 * high + last, out)


@part
def put_float_text(address, length, width, out):
    """Write a float of `width` bits from a decimal text, little-endian; -1 if it has another
    form."""
    for place in range(address, address + length):
        byte = load8(place)
        is_digit = _ZERO <= byte <= _ZERO + 9
        if not is_digit and byte not in (_DASH, _POINT, 101, 43):  # e, +
            return np.int64(-1)
    bits = float_bits(address, length, width)
    if bits == -1:
        return np.int64(-1)
    store64(out, bits)
    return out + width // 8


@part
def put_unscaled(value, out):
    """Write the length and the shortest big-endian two's complement form of an int64."""
    size = (72 - count_leading_zeros(value ^ (value >> 63))) >> 3
    store8(out, 2 * size)
    for place in range(size):
        store8(out + 1 + place, value >> (8 * (size - 1 - place)))
    return out + 1 + size


@part
def _put_digits(address, whole, fraction, padding, negative, out):
    """Write the unscaled value of the digits around a point and `padding` zeros after them."""
    count = whole + fraction + padding
    if count > 18:
        if count > MAX_DIGITS or padding > MAX_PADDING:
            return np.int64(-1)
        limbs = out + whole + fraction + 32
        size = big_unscaled(address, whole, fraction, padding, negative, limbs)
        if size < 0:
            return size
        out = put_long(size, out)
        for place in range(size):
            store8(out + place, load8(limbs + size - 1 - place))
        return out + size
    value = parse_digits(address, whole)
    low = parse_digits(address + whole + 1, fraction)
    if (value | low) < 0:
        return np.int64(-1)
    value = (value * POWERS_OF_TEN[fraction] + low) * POWERS_OF_TEN[padding]
    return put_unscaled(-value if negative else value, out)


@part
def put_decimal_bytes(address, length, scale, out):
    """Connect's Decimal; -1: NaN, Infinity, or more digits after the point than the scale has."""
    negative = length > 0 and load8(address) == _DASH
    if negative:
        address += 1
        length -= 1
    if scale < 0 or scale > MAX_DIGITS:
        return np.int64(-1)
    whole = find_point(address, length)
    fraction = max(length - whole - 1, np.int64(0))
    if whole < 1 or fraction > scale or (fraction == 0 and whole < length):
        return np.int64(-1)
    return _put_digits(address, whole, fraction, scale - fraction, negative, out)


@part
def put_variable_decimal_bytes(address, length, out):
    """Debezium's VariableScaleDecimal, zeros at the end of the fraction stripped: the scale and
    the unscaled value."""
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
    return _put_digits(address, whole, fraction, np.int64(0), negative, put_long(fraction, out))
