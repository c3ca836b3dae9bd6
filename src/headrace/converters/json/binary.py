"""Compiled encoders for binary cells: numbers and bytes as a driver has them become JSON text.

Part of `headrace.converters.json.cells`, whose rules on memory hold here too. Doubles and floats
are printed by Raffaele Giulietti's Schubfach, which is what Java's `Double.toString` has been since
version 19.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import (
    kernel,
    load8,
    load16,
    load32,
    load32_signed,
    load64,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.kernels.text import (
    POWERS_OF_TEN,
    as_word,
    divide,
    multiply_high,
    put_int,
    wrapping_add,
    wrapping_multiply,
)
from headrace.converters.json.cells import put_boolean, put_bytes
from headrace.converters.json.floats import put_java

_BOOLEAN = int(Encoding.BINARY_BOOLEAN)
_INT16, _INT32, _INT64 = int(Encoding.INT16_LE), int(Encoding.INT32_LE), int(Encoding.INT64_LE)
_FLOAT32, _FLOAT64 = int(Encoding.FLOAT32_LE), int(Encoding.FLOAT64_LE)
_BYTES, _BINARY_HEX = int(Encoding.BYTES), int(Encoding.BINARY_HEX)

_QUOTE, _DASH = ord('"'), ord("-")
_HEXADECIMAL = np.frombuffer(b"".join(b"%02x" % i for i in range(256)), np.uint16)
_NAN, _INFINITY = as_word(b'"NaN"'), as_word(b"Infinity")
_ZERO = as_word(b"0.0")

_MASK_63 = (1 << 63) - 1
_LEAST_POWER, _LARGEST_POWER = -324, 292


def _power_words(k: int) -> tuple[int, int]:
    """10**-k, scaled to 126 bits and rounded up, as its high and low 63 bits."""
    shift = (-k * 913_124_641_741 >> 38) - 125
    numerator, denominator = (10**-k, 1) if k <= 0 else (1, 10**k)
    if shift < 0:
        numerator <<= -shift
    else:
        denominator <<= shift
    power = numerator // denominator + 1
    return power >> 63, power & _MASK_63


_POWERS = np.array([_power_words(k) for k in range(_LEAST_POWER, _LARGEST_POWER + 1)], np.int64)


@kernel
def _rounded(high, low, value):
    """`value` times a power, its last bit set where bits were cut off (rounding to odd)."""
    product = wrapping_multiply(high, value)
    z = wrapping_add((product >> 1) & _MASK_63, multiply_high(low, value))
    whole = wrapping_add(multiply_high(high, value), (z >> 63) & 1)
    return whole | ((wrapping_add(z & _MASK_63, _MASK_63) >> 63) & 1)


@kernel
def _put_shortest(digits, exponent, out):
    """`digits` times 10**`exponent`, as Java writes it."""
    while digits % 10 == 0:
        digits = divide(digits, 10)
        exponent += 1
    count = 1
    while count < 18 and digits >= POWERS_OF_TEN[count]:
        count += 1
    return put_java(digits, count, exponent + count - 1, out)


@kernel
def _put_binary_float(c, q, is_least_normal, shift, out):
    """The shortest decimal that rounds to `c` times 2**`q`; `is_least_normal`: the next smaller
    number is nearer than the next larger one. `shift` is -1 where `c` was multiplied by ten."""
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
    high = _POWERS[k - _LEAST_POWER, 0]
    low = _POWERS[k - _LEAST_POWER, 1]
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


@kernel
def _put_ieee(negative, biased, fraction, precision, infinite, least, tiny, out):
    """A number of `precision` bits: its biased exponent (`infinite`: none) and fraction; `least`
    is the exponent of the smallest one, below `tiny` of which Java shows a second digit."""
    if biased == infinite and fraction:
        store64(out, _NAN)
        return out + 5
    if biased == infinite:
        store8(out, _QUOTE)
        out += 1
    if negative:
        store8(out, _DASH)
        out += 1
    if biased == infinite:
        store64(out, _INFINITY)
        store8(out + 8, _QUOTE)
        return out + 9
    if biased == 0 and fraction == 0:
        store32(out, _ZERO)
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


@kernel
def put_double(bits, out):
    """A double's 64 bits as Java's Double.toString writes it, in quotes where JSON has no such
    number; returns its end."""
    fraction = bits & ((1 << 52) - 1)
    return _put_ieee(bits < 0, (bits >> 52) & 0x7FF, fraction, 53, 0x7FF, -1074, 3, out)


@kernel
def put_single(bits, out):
    """A float's 32 bits as Java's Float.toString writes it; returns its end."""
    fraction = bits & ((1 << 23) - 1)
    return _put_ieee((bits >> 31) & 1, (bits >> 23) & 0xFF, fraction, 24, 0xFF, -149, 8, out)


@kernel
def _put_hexadecimal(address, length, out):
    store8(out, _QUOTE)
    out += 1
    for i in range(length):
        store16(out + 2 * i, np.int64(_HEXADECIMAL[load8(address + i)]))
    out += 2 * length
    store8(out, _QUOTE)
    return out + 1


@kernel
def encode_binary(address, length, code, out):
    """Write the JSON value of a binary cell; as `cells.encode` for text cells."""
    if code == _INT64 and length == 8:
        return put_int(load64(address), out)
    if code == _FLOAT64 and length == 8:
        return put_double(load64(address), out)
    if code == _BYTES and length >= 0:
        return put_bytes(address, length, out)
    if code == _INT32 and length == 4:
        return put_int(load32_signed(address), out)
    if code == _INT16 and length == 2:
        return put_int((load16(address) ^ 0x8000) - 0x8000, out)
    if code == _FLOAT32 and length == 4:
        return put_single(load32(address), out)
    if code == _BOOLEAN and length == 1 and load8(address) <= 1:
        return put_boolean(load8(address) == 1, out)
    if code == _BINARY_HEX and length >= 0:
        return _put_hexadecimal(address, length, out)
    return np.int64(-1)
