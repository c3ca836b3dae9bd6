"""Compiled encoders for floating point numbers, from their canonical text to Java's.

Used by `headrace.converters.json.kernels.cells`, whose rules on memory apply here, too. A canonical
text is the shortest one that reads back as the number; Java prints the same digits in another
notation (`Double.toString`), except for a few numbers, which are left to Python.
"""

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.java_floats import put_java
from headrace.connect.kernels.memory import copy, load8, load32, load64, store8, store32
from headrace.connect.kernels.text import (
    POWERS_OF_TEN,
    as_word,
    count_leading_zeros,
    parse_digits,
)

_DASH, _PLUS, _POINT, _QUOTE, _ZERO = ord("-"), ord("+"), ord("."), ord('"'), ord("0")
_SMALL_E = ord("e")
_ZERO_POINT_ZERO = as_word(b"0.0")
_NAN, _INFINITY = as_word(b"NaN"), as_word(b"Infinity")


@part
def _put_special(address, length, out):  # type: ignore[no-untyped-def]
    """Write NaN or an infinity, in quotes as Jackson writes them."""
    first = address
    if length == 9 and load8(address) == _DASH:
        first += 1
    if address + length - first == 8:
        if load64(first) != _INFINITY:
            return np.int64(-1)
    elif length != 3 or (load32(address) & 0xFFFFFF) != _NAN:
        return np.int64(-1)
    store8(out, _QUOTE)
    out = copy(address, length, out + 1)
    store8(out, _QUOTE)
    return out + 1


@part
def _has_shorter_midpoint(value, power, count, exponent):  # type: ignore[no-untyped-def]
    """Return whether Java prints fewer digits than the canonical text for the float of 32
    bits that is nearest to `value` times ten to the power `power`. `value` has `count` digits;
    `exponent` is the power of ten of its first digit.

    A canonical text is never a number midway between two floats; Java prints the midpoint if it is
    shorter and reads back as this float. This only happens for floats above 2**24 with an even last
    bit.
    """
    # Above 2**24, a midpoint (25 bits times a power of two) has nine digits or more.
    if exponent >= 18 or power < 0:
        return False
    number = value * POWERS_OF_TEN[power]
    bits = 64 - count_leading_zeros(number)
    if bits <= 24:
        return False
    half = np.int64(1) << (bits - 25)
    nearest = (number + half) & ~(2 * half - 1)
    if nearest & (nearest - 1) == 0:
        return True
    if nearest & (2 * half):
        return False
    shorter = POWERS_OF_TEN[exponent + 2 - count]
    return (nearest - half) % shorter == 0 or (nearest + half) % shorter == 0


@part
def put_float(address, length, digits, out):  # type: ignore[no-untyped-def]
    """Write Java's notation of a number with up to `digits` significant digits.

    `digits` is 17 for a double, 9 for a float of 32 bits and 15 for a numeric that becomes
    a double, because a double preserves every number of 15 digits. Returns -1 if Java's shortest
    text may have other digits than the canonical one: for the numbers nearest to zero (Java has at
    least two digits), and for large ones next to a shorter midpoint of two floats.
    """
    position = address
    end = address + length
    if length > 0 and load8(address) == _DASH:
        position += 1
    value = np.int64(0)
    count = 0  # significant digits in `value`
    zeros = 0  # zeros that follow them
    leading = 0  # zeros before the first significant digit
    point = -1  # digits before the point
    digits_seen = np.int64(0)
    while position < end:
        byte = load8(position)
        digit = byte - _ZERO
        if 0 <= digit <= 9:
            digits_seen += 1
            if digit:
                count += zeros + 1 if count else 1
                if count > digits:
                    return np.int64(-1)
                value = value * POWERS_OF_TEN[zeros + 1] + digit
                zeros = 0
            elif count:
                zeros += 1
            else:
                leading += 1
        elif byte == _POINT and point < 0:
            point = digits_seen  # type: ignore[assignment]
        else:
            break
        position += 1
    if digits_seen == 0:
        return _put_special(address, length, out)
    if point in (0, digits_seen):
        return np.int64(-1)  # a number has digits on both sides of its point
    exponent = (digits_seen if point < 0 else point) - 1 - leading
    if position < end:
        if load8(position) != _SMALL_E or digits == 15 or end - position > 5:
            return np.int64(-1)
        position += 1
        sign = load8(position)
        if sign in (_DASH, _PLUS):
            position += 1
        power = parse_digits(position, end - position) if position < end else np.int64(-1)
        if power < 0:
            return power
        exponent += -power if sign == _DASH else power
    if load8(address) == _DASH:
        store8(out, _DASH)
        out += 1
    if count == 0:
        store32(out, _ZERO_POINT_ZERO)
        return out + 3
    if digits == 9:
        if exponent > 38 or exponent < -45 or (exponent < -41 and count == 1):
            return np.int64(-1)
        large = exponent >= 7 and count >= 7
        if large and _has_shorter_midpoint(value, exponent + 1 - count, count, exponent):
            return np.int64(-1)
    else:
        beside_midpoint = 16 <= exponent <= 38 and count >= 16
        near_zero = exponent < -324 or (exponent < -319 and count == 1)
        if exponent > 307 or beside_midpoint or near_zero:
            return np.int64(-1)
    return put_java(value, count, exponent, out)
