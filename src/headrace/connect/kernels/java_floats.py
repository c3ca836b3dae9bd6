"""Floating-point numbers as Java writes them, from their bits: Raffaele Giulietti's Schubfach, the
algorithm of Java's `Double.toString` since version 19.

The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import struct

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8, load64, store8, store16, store32, store64
from headrace.connect.kernels.text import (
    POWERS_OF_TEN,
    as_double,
    as_word,
    count_leading_zeros,
    divide,
    multiply_high,
    put_int,
    wrapping_add,
    wrapping_multiply,
)

_DASH, _POINT, _ZERO, _LARGE_E = ord("-"), ord("."), ord("0"), ord("E")
_NAN, _INFINITY = as_word(b"NaN"), as_word(b"Infinity")
_POINT_ZERO, _ZERO_POINT_ZERO, _LEADING_ZEROS = (
    as_word(b".0"),
    as_word(b"0.0"),
    as_word(b"0.000000"),
)

_MASK_63 = (1 << 63) - 1
_MIN_POWER, _LARGEST_POWER = -324, 292
_THOUSANDTH = struct.unpack("<q", struct.pack("<d", 0.001))[0]


def _power_words(k: int) -> tuple[int, int]:
    """Return 10**-k, scaled to 126 bits and rounded up, as its high and low 63 bits."""
    shift = (-k * 913_124_641_741 >> 38) - 125
    numerator, denominator = (10**-k, 1) if k <= 0 else (1, 10**k)
    if shift < 0:
        numerator <<= -shift
    else:
        denominator <<= shift
    power = numerator // denominator + 1
    return power >> 63, power & _MASK_63


_POWERS = np.array([_power_words(k) for k in range(_MIN_POWER, _LARGEST_POWER + 1)], np.int64)


@part
def _rounded(high, low, value):
    """Return `value` times a power, with the last bit set if bits were cut off (rounding to
    odd)."""
    product = wrapping_multiply(high, value)
    z = wrapping_add((product >> 1) & _MASK_63, multiply_high(low, value))
    whole = wrapping_add(multiply_high(high, value), (z >> 63) & 1)
    return whole | ((wrapping_add(z & _MASK_63, _MASK_63) >> 63) & 1)


@part
def _put_shortest(digits, exponent, out):
    """Write `digits` times 10**`exponent`, as Java does."""
    tens = divide(digits, 10)
    while 10 * tens == digits:
        digits = tens
        exponent += 1
        tens = divide(digits, 10)
    # 1233 / 4096 is a little more than the logarithm of 2; the guess is right or one too low.
    count = (64 - count_leading_zeros(digits)) * 1233 >> 12
    if digits >= POWERS_OF_TEN[count]:
        count += 1
    return put_java(digits, count, exponent + count - 1, out)


@part
def _put_short_decimal(bits, out):
    """Write a positive number with up to four decimal places; return 0 if it has more.

    No two decimals of 15 digits are nearest to the same double, so such a decimal is the shortest
    one. Dividing by a power of ten is exact enough to detect it.
    """
    value = as_double(bits)
    if value >= 1e10:
        return np.int64(0)
    hundreds = np.rint(value * 100.0)
    if hundreds / 100.0 == value:
        return _put_shortest(np.int64(hundreds), -2, out)
    parts = np.rint(value * 10000.0)
    if parts / 10000.0 == value:
        return _put_shortest(np.int64(parts), -4, out)
    return np.int64(0)


@part
def _put_binary_float(c, q, is_least_normal, shift, out):
    """Write the shortest decimal that rounds to `c` times 2**`q`; `is_least_normal`: the next
    smaller number is nearer than the next larger one. `shift` is -1 if `c` was multiplied by
    ten."""
    odd = c & 1
    middle = c << 2
    upper = middle + 2
    if is_least_normal:
        lower = middle - 1
        k = (q * 661_971_961_083 - 274_743_187_321) >> 41
    else:
        lower = middle - 2
        k = (q * 661_971_961_083) >> 41
    h = q + ((-k * 913_124_641_741) >> 38) + 2
    high = _POWERS[k - _MIN_POWER, 0]
    low = _POWERS[k - _MIN_POWER, 1]
    middle = _rounded(high, low, middle << h)
    lower = _rounded(high, low, lower << h) + odd
    upper = _rounded(high, low, upper << h) - odd
    s = middle >> 2
    if s >= 100:
        tens = divide(s, 10) * 10
        is_below = lower <= tens << 2
        is_above = (tens + 10) << 2 <= upper
        if is_below != is_above:
            return _put_shortest(tens if is_below else tens + 10, k, out)
    is_below = lower <= s << 2
    is_above = (s + 1) << 2 <= upper
    if is_below != is_above:
        return _put_shortest(s if is_below else s + 1, k + shift, out)
    distance = middle - ((s + s + 1) << 1)
    is_nearer = distance < 0 or (distance == 0 and s & 1 == 0)
    return _put_shortest(s if is_nearer else s + 1, k + shift, out)


@part
def put_java(value, count, exponent, out):
    """Write `value`, which has `count` digits, the first of which stands for 10**exponent."""
    if -3 <= exponent < 0:
        store64(out, _LEADING_ZEROS)
        return put_int(value, out + 1 - exponent)
    if exponent < -3 or exponent >= 7:
        end = put_int(value, out + 1)
        store8(out, load8(out + 1))
        store8(out + 1, _POINT)
        if count == 1:
            store8(out + 2, _ZERO)
            end += 1
        store8(end, _LARGE_E)
        return put_int(exponent, end + 1)
    if count > exponent + 1:
        # Up to seven digits move one place to the left, the point takes the place of the last.
        end = put_int(value, out + 1)
        shift = 8 * (exponent + 1)
        before = (np.int64(1) << shift) - 1
        digits = (load64(out + 1) & before) | np.int64(_POINT) << shift
        store64(out, digits | (load64(out) & ~(before << 8 | 0xFF)))
        return end
    end = put_int(value * POWERS_OF_TEN[exponent + 1 - count], out)
    store16(end, _POINT_ZERO)
    return end + 2


@part
def _put_ieee(negative, biased, fraction, precision, infinite, least, tiny, out):
    """Write a number of `precision` bits: its biased exponent (`infinite`: none) and fraction;
    `least` is the exponent of the smallest one, below `tiny` of which Java shows a second digit."""
    if biased == infinite and fraction:
        store64(out, _NAN)
        return out + 3
    if negative:
        store8(out, _DASH)
        out += 1
    if biased == infinite:
        store64(out, _INFINITY)
        return out + 8
    if biased == 0 and fraction == 0:
        store32(out, _ZERO_POINT_ZERO)
        return out + 3
    least_normal = np.int64(1) << (precision - 1)
    if biased > 0:
        exponent = least + biased - 1
        value = least_normal | fraction
        if -precision < exponent < 0:
            whole = value >> -exponent
            if whole << -exponent == value:
                return _put_shortest(whole, 0, out)
        is_least = value == least_normal and exponent != least
        return _put_binary_float(value, exponent, is_least, 0, out)
    if fraction < tiny:
        return _put_binary_float(10 * fraction, least, False, -1, out)
    return _put_binary_float(fraction, least, False, 0, out)


@part
def put_double(bits, out):
    """Write a double's 64 bits as Java's Double.toString does; return its end."""
    fraction = bits & ((1 << 52) - 1)
    if bits >= _THOUSANDTH:
        end = _put_short_decimal(bits, out)
        if end:
            return end
    return _put_ieee(bits < 0, (bits >> 52) & 0x7FF, fraction, 53, 0x7FF, -1074, 3, out)


@part
def put_single(bits, out):
    """Write a float's 32 bits as Java's Float.toString does; return its end."""
    fraction = bits & ((1 << 23) - 1)
    return _put_ieee((bits >> 31) & 1, (bits >> 23) & 0xFF, fraction, 24, 0xFF, -149, 8, out)
