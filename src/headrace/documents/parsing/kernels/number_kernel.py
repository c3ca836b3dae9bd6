"""Compiled, exact parser of JSON numbers.

Doubles follow Daniel Lemire and Noble Mushtak ("Fast number parsing without fallback", 2022): the
digits times a power of five of 128 bits, rounded once. A result of 0 instead of an address means
that plain Python has to read or reject the number. The rules on memory are those of
`headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8
from headrace.connect.kernels.text import (
    count_leading_zeros,
    double_bits,
    is_below_unsigned,
    multiply_high_unsigned,
    wrapping_add,
    wrapping_multiply,
)

_DASH, _PLUS, _POINT, _ZERO, _NINE = map(ord, "-+.09")
_SMALL_E = ord("e")
_MAX_DIGITS = 19
"""Digits that always fit into 64 bits without a sign."""
_MIN_POWER, _LARGEST_POWER = -342, 308
_SMALLEST = -(1 << 63)
_FRACTION_BITS, _MAX_EXPONENT, _EXPONENT_BIAS = 52, 0x7FF, 1023
_LAST_NINE_BITS = (1 << 9) - 1
_EXACT_DIGITS = 1 << 53


def _power_words(exponent: int) -> tuple[int, int]:
    """The 128 highest bits of five to the power of `exponent`, as two signed words; truncated if
    the exponent is positive, otherwise rounded up before truncation."""
    power = 5 ** abs(exponent)
    if exponent >= 0:
        shift = power.bit_length() - 128
        value = power >> shift if shift > 0 else power << -shift
    else:
        bits = (power - 1).bit_length()
        value = (1 << (bits + 127 if exponent >= -27 else 2 * bits + 128)) // power + 1
        value >>= value.bit_length() - 128
    words = (value >> 64, value & ((1 << 64) - 1))
    return (words[0] - (1 << 64) * (words[0] >> 63), words[1] - (1 << 64) * (words[1] >> 63))


_POWERS = np.array([_power_words(q) for q in range(_MIN_POWER, _LARGEST_POWER + 1)], np.int64)
_TENS = np.array([float(10**i) for i in range(23)])


@part
def _digits(place, end, value):
    """Read the digits from `place` on and append them to `value`; returns it, and the place after
    them. More than `_MAX_DIGITS` digits wrap."""
    while place < end:
        byte = load8(place)
        if byte < _ZERO or byte > _NINE:
            break
        value = wrapping_add(wrapping_multiply(value, 10), byte - _ZERO)
        place += 1
    return value, place


@part
def parse_integer(place, end):
    """Read an int64 without leading zeros; returns it, and the place after it (0: another
    number)."""
    start = place
    is_negative = place < end and load8(place) == _DASH
    if is_negative:
        start += 1
    value, place = _digits(start, end, np.int64(0))
    count = place - start
    if count == 0 or count > _MAX_DIGITS or (load8(start) == _ZERO and count > 1):
        return np.int64(0), np.int64(0)
    if value < 0:
        # 19 digits without a sign; of the numbers beyond int64 only one fits with a sign.
        if value == _SMALLEST and is_negative:
            return value, place
        return np.int64(0), np.int64(0)
    return (-value if is_negative else value), place


@part
def _nearest_double(digits, exponent):
    """The bits of the double nearest to `digits` (64 bits without a sign, not 0) times ten to the
    power of `exponent`; -1 if it is not a normal double."""
    if exponent < _MIN_POWER or exponent > _LARGEST_POWER:
        return np.int64(-1)
    zeros = count_leading_zeros(digits)
    digits <<= zeros
    power = exponent - _MIN_POWER
    low = wrapping_multiply(digits, _POWERS[power, 0])
    high = multiply_high_unsigned(digits, _POWERS[power, 0])
    if high & _LAST_NINE_BITS == _LAST_NINE_BITS:
        more = multiply_high_unsigned(digits, _POWERS[power, 1])
        low = wrapping_add(low, more)
        if is_below_unsigned(low, more):
            high = wrapping_add(high, 1)
    upper = (high >> 63) & 1
    shift = upper + 64 - _FRACTION_BITS - 3
    mantissa = (high >> shift) & ((1 << (64 - shift)) - 1)
    biased = ((217706 * exponent) >> 16) + 63 + upper - zeros + _EXPONENT_BIAS
    if biased <= 0:
        return np.int64(-1)
    is_half = (low == 0 or low == 1) and -4 <= exponent <= 23 and mantissa & 3 == 1
    if is_half and mantissa << shift == high:
        mantissa &= ~1
    mantissa = (mantissa + (mantissa & 1)) >> 1
    if mantissa >= 2 << _FRACTION_BITS:
        mantissa = np.int64(1 << _FRACTION_BITS)
        biased += 1
    if biased >= _MAX_EXPONENT:
        return np.int64(-1)
    return biased << _FRACTION_BITS | (mantissa & ((1 << _FRACTION_BITS) - 1))


@part
def _double(digits, exponent):
    """The bits of a double that is not negative; -1 if it is not a normal double."""
    if digits == 0:
        return np.int64(0)
    if 0 < digits < _EXACT_DIGITS and -22 <= exponent <= 22:
        # Both are exact, so that the quotient or product is rounded once.
        if exponent < 0:
            return double_bits(np.float64(digits) / _TENS[-exponent])
        return double_bits(np.float64(digits) * _TENS[exponent])
    return _nearest_double(digits, exponent)


@part
def parse_number(place, end):
    """Read a JSON number; returns whether it is a double, its value (of a double, its bits) and the
    place after it (0: not a number, or one that is neither an int64 nor a normal double)."""
    start = place
    is_negative = place < end and load8(place) == _DASH
    if is_negative:
        place += 1
    first = place
    digits, place = _digits(first, end, np.int64(0))
    count = place - first
    if count == 0 or (load8(first) == _ZERO and count > 1):
        return False, np.int64(0), np.int64(0)
    byte = load8(place) if place < end else np.int64(0)
    if byte != _POINT and byte | 32 != _SMALL_E:
        value, place = parse_integer(start, end)
        return False, value, place
    exponent = np.int64(0)
    if byte == _POINT:
        point = place
        digits, place = _digits(point + 1, end, digits)
        exponent = point + 1 - place
        if exponent == 0:
            return False, np.int64(0), np.int64(0)
        count -= exponent
        byte = load8(place) if place < end else np.int64(0)
    if byte | 32 == _SMALL_E:
        place += 1
        sign = load8(place) if place < end else np.int64(0)
        if sign in (_DASH, _PLUS):
            place += 1
        power_start = place
        power, place = _digits(place, end, np.int64(0))
        if place == power_start or place - power_start > 4:
            return False, np.int64(0), np.int64(0)
        exponent += -power if sign == _DASH else power
    if count > _MAX_DIGITS:
        return False, np.int64(0), np.int64(0)
    bits = _double(digits, exponent)
    if bits < 0:
        return False, np.int64(0), np.int64(0)
    return True, (bits | _SMALLEST if is_negative else bits), place
