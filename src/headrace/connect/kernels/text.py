"""Functions for kernels of several packages: wrapping arithmetic, digits and decimal text, lengths
in UTF-16 code units, hashes.

Eight digits are processed at once in a 64-bit integer, first character in the lowest byte. The
rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import count_trailing_zeros, load8, load64, store8, store64


def _repeated(byte: int) -> int:
    return int.from_bytes(bytes([byte]) * 8, "little", signed=True)


def as_word(text: bytes) -> int:
    """Return up to eight characters as the integer that a store writes them with."""
    return int.from_bytes(text.ljust(8, b"\0"), "little", signed=True)


DIGIT_ZEROS = _repeated(0x30)
HIGH_BITS = _repeated(0x80)
# Added to a byte below 0x80, this sets its high bit when the byte is above 9.
ABOVE_NINE = _repeated(0x76)


_DASH = ord("-")
POWERS_OF_TEN = np.array([10**i for i in range(19)], np.int64)

_MULTIPLIER = -7046029254386353131  # the odd 64-bit golden ratio


def _arithmetic(generate: Any, count: int) -> Any:
    """Return an intrinsic on int64 arguments; `generate` gets the LLVM builder and their values."""
    signature = types.int64(*[types.int64] * count)

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return generate(builder, *arguments)

    def one(_typing: Any, _value: Any) -> Any:
        return signature, code

    def two(_typing: Any, _left: Any, _right: Any) -> Any:
        return signature, code

    return intrinsic(one if count == 1 else two)


# The number of zero bits above the highest set bit; 64 if no bit is set.
count_leading_zeros = _arithmetic(lambda b, x: b.ctlz(x, ir.Constant(ir.IntType(1), 0)), 1)
# Numba's own + and * declare to LLVM that no overflow occurs; here bytes of any value are added.
wrapping_add = _arithmetic(lambda b, left, right: b.add(left, right), 2)
wrapping_multiply = _arithmetic(lambda b, left, right: b.mul(left, right), 2)


def _high_half(extend: str) -> Any:
    wide = ir.IntType(128)

    def generate(builder: Any, left: Any, right: Any) -> Any:
        widened = getattr(builder, extend)
        product = builder.mul(widened(left, wide), widened(right, wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return generate


# The high 64 bits of a product of 128 bits, of signed and of unsigned numbers.
multiply_high = _arithmetic(_high_half("sext"), 2)
multiply_high_unsigned = _arithmetic(_high_half("zext"), 2)
is_below_unsigned = _arithmetic(
    lambda b, left, right: b.zext(b.icmp_unsigned("<", left, right), ir.IntType(64)), 2
)


@intrinsic
def as_double(typing_context, bits):  # noqa: ARG001
    """Return the double with these bits."""

    def generate(_context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def double_bits(typing_context, value):  # noqa: ARG001
    """Return the bits of a double."""

    def generate(_context, builder, _signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@part
def is_text_of_digits(digits):
    """Return whether eight characters, already xored with `DIGIT_ZEROS`, were all digits."""
    return (wrapping_add(digits, ABOVE_NINE) | digits) & HIGH_BITS == 0


@part
def divide(value, divisor):
    """Return `value // divisor` of two integers that are not negative, without handling of
    signs."""
    return np.int64(np.uint64(value) // np.uint64(divisor))


@part
def _eight_digits(value):
    """Return the digits (0-9, not characters) of a value below 10**8, one per byte."""
    high = divide(value, 10000)
    fours = high | (value - high * 10000) << 32
    hundreds = (fours * 10486 >> 20) & 0x0000007F0000007F
    twos = hundreds | (fours - 100 * hundreds) << 16
    tens = (twos * 103 >> 10) & 0x000F000F000F000F
    return tens | (twos - 10 * tens) << 8


@part
def number_of_eight(digits):
    """Return the number of `_eight_digits`."""
    pairs = digits * 10 + (digits >> 8)
    high = wrapping_multiply(pairs & 0x000000FF000000FF, 100 + (1000000 << 32))
    low = wrapping_multiply((pairs >> 16) & 0x000000FF000000FF, 1 + (10000 << 32))
    return (high + low) >> 32


@part
def parse_digits(address, count):
    """Return the number of `count` (0 to 18) digits; -1 if a byte is not a digit."""
    value = np.int64(0)
    while count > 8:
        digits = load64(address) ^ DIGIT_ZEROS
        if not is_text_of_digits(digits):
            return np.int64(-1)
        value = value * 100000000 + number_of_eight(digits)
        address += 8
        count -= 8
    if count > 0:
        digits = (load64(address) ^ DIGIT_ZEROS) << (64 - 8 * count)
        if not is_text_of_digits(digits):
            return np.int64(-1)
        value = value * POWERS_OF_TEN[count] + number_of_eight(digits)
    return value


@part
def are_digits(address, count):
    """Return whether all `count` bytes are digits."""
    while count > 8:
        digits = load64(address) ^ DIGIT_ZEROS
        if not is_text_of_digits(digits):
            return False
        address += 8
        count -= 8
    if count > 0:
        digits = (load64(address) ^ DIGIT_ZEROS) << (64 - 8 * count)
        if not is_text_of_digits(digits):
            return False
    return True


@part
def _put_short(value, out):
    digits = _eight_digits(value)
    leading = min(count_trailing_zeros(digits) >> 3, 7)
    store64(out, (digits | DIGIT_ZEROS) >> (8 * leading))
    return out + 8 - leading


@part
def put_int(value, out):
    """Write the decimal text of an int64; return its end. Writes up to 28 bytes."""
    if value < 0:
        store8(out, _DASH)
        out += 1
        value = -value  # The smallest int64 stays negative; `divide` reads it as 2**63.
    if 0 <= value < 100000000:
        return _put_short(value, out)
    high = divide(value, 100000000)
    low = wrapping_add(value, high * -100000000)
    if high < 100000000:
        out = _put_short(high, out)
    else:
        top = divide(high, 100000000)
        out = _put_short(top, out)
        store64(out, _eight_digits(high - top * 100000000) | DIGIT_ZEROS)
        out += 8
    store64(out, _eight_digits(low) | DIGIT_ZEROS)
    return out + 8


@part
def units_length(address, length, units):
    """Return the bytes of the characters in the first `units` UTF-16 code units of a text."""
    if length <= units:
        return length
    for place in range(length):
        byte = load8(address + place)
        if byte & 0xC0 != 0x80:  # a character begins here
            units -= 2 if byte >= 0xF0 else 1
            if units < 0:
                return np.int64(place)
    return length


@part
def mix(seed, word):
    """Return the result of one step of a multiply-and-fold hash."""
    value = wrapping_multiply(seed ^ word, _MULTIPLIER)
    return value ^ ((value >> 29) & 0x7FFFFFFFF)


@entry
def hash_bytes(seed, address, length):
    """Return the hash of `length` bytes; reads up to 7 bytes beyond them."""
    value = mix(seed, length)
    for offset in range(0, length - 7, 8):
        value = mix(value, load64(address + offset))
    rest = length & 7
    if rest:
        word = load64(address + length - rest) & ((1 << (8 * rest)) - 1)
        value = mix(value, word)
    return value
