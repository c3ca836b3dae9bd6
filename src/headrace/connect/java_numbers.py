"""Numbers as in Java: floating-point texts with the fewest digits (Java 19), and the integers and
bytes of exact decimals, in time that grows little faster than the number of digits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

_SHORT_DIGITS, _SHORT_BITS = 1_000, 4_000
"""Digits and bits of the largest numbers that Python converts directly, in quadratic time."""
_EXACT = Context(prec=2 * _SHORT_BITS, Emax=MAX_EMAX, Emin=MIN_EMIN)


def java_double(value: float) -> str:
    """Return Java's Double.toString (19 and later): `1.0E10`, `0.1`, `-0.0`, `NaN`, `Infinity`."""
    if not math.isfinite(value) or value == 0.0:
        return _special(value)
    return _notation(repr(value), value, float)


def java_float(value: float) -> str:
    """Return Java's Float.toString (19 and later) of `value` rounded to 32 bits."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    exact = float(single)
    if not math.isfinite(exact) or exact == 0.0:
        return _special(exact)
    shortest = np.format_float_scientific(single, unique=True, trim="-")
    return _notation(shortest, exact, lambda text: float(np.float32(text)))


_DOUBLE = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", re.ASCII
)


def parse_double(text: str) -> float:
    """Return the number of a text, like Java's Double.parseDouble, without hexadecimal numbers.

    Raises ValueError for other texts, such as `1_000`, which Python accepts.
    """
    bare = text.strip("".join(map(chr, range(33))))
    if bare[-1:] in ("f", "F", "d", "D"):
        bare = bare[:-1]
    if not _DOUBLE.fullmatch(bare):
        raise ValueError(f"{text[:40]!r} is not a number")
    return float(bare)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return sign + ("Infinity" if math.isinf(value) else "0.0")


def _notation(shortest: str, value: float, parse: Callable[[str], float]) -> str:
    """Return the digits of `shortest` in Java's notation.

    Java writes at least two digits: where one digit would identify the number, it writes the two
    nearest digits (4.9E-324, not 5.0E-324).
    """
    if len(Decimal(shortest).normalize().as_tuple().digits) == 1:
        candidate = f"{Decimal(value):.1e}"
        if parse(candidate) == value:
            shortest = candidate
    return java_notation(shortest)


def java_notation(decimal_text: str) -> str:
    """Return a finite number other than zero, whose digits Java would choose, in Java's
    notation."""
    sign, digits, exponent = Decimal(decimal_text).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent  # position of the decimal point, counted from the first digit
    minus = "-" if sign else ""
    if -3 < point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{text}"
        return f"{minus}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def unscaled(value: Decimal) -> int:
    """Return the integer value · 10^scale of a finite decimal, of any number of digits."""
    # The decimal's text has exactly its digits, and is ten times as fast as its tuple.
    text = str(value)
    if len(text) <= _SHORT_DIGITS:
        return int(text.partition("E")[0].replace(".", ""))
    sign, digits, _exponent = value.as_tuple()
    if len(digits) <= _SHORT_DIGITS:
        return int(Decimal((sign, digits, 0)))
    number = _integer("".join(map(str, digits)))
    return -number if sign else number


def _integer(digits: str) -> int:
    """Return the number of digits in text. Python refuses to parse more than 4,300 at once."""
    if len(digits) <= _SHORT_DIGITS:
        return int(digits)
    low = len(digits) // 2
    power: int = 10**low
    return _integer(digits[:-low]) * power + _integer(digits[-low:])


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """Return the decimal unscaled · 10^-scale, with all its digits."""
    if unscaled.bit_length() <= _SHORT_BITS:
        return Decimal(unscaled).scaleb(-scale, _EXACT)
    return Decimal((int(unscaled < 0), _whole(abs(unscaled)).as_tuple().digits, -scale))


def _whole(number: int) -> Decimal:
    """Return a natural number as a decimal with all its digits."""
    if number.bit_length() <= _SHORT_BITS:
        return Decimal(number)
    with localcontext(Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        return _joined(number, number.bit_length(), {})


def _joined(number: int, bits: int, powers: dict[int, Decimal]) -> Decimal:
    if bits <= _SHORT_BITS:
        return Decimal(number)
    low = bits // 2
    high = number >> low
    lowest = _joined(number - (high << low), low, powers)
    return _joined(high, bits - low, powers) * _power_of_two(low, powers) + lowest


def _power_of_two(exponent: int, powers: dict[int, Decimal]) -> Decimal:
    if exponent not in powers:
        half = exponent // 2
        powers[exponent] = (
            Decimal(1 << exponent)
            if exponent <= _SHORT_BITS
            else _power_of_two(half, powers) * _power_of_two(exponent - half, powers)
        )
    return powers[exponent]


def big_endian(number: int) -> bytes:
    """Return the two's complement in the fewest bytes, like Java's BigInteger.toByteArray."""
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)


def unscaled_bytes(value: Decimal) -> bytes:
    """Return the unscaled integer of a finite decimal in the form of `big_endian`."""
    return big_endian(unscaled(value))


@lru_cache(maxsize=1_000)
def _quantum(scale: int) -> Decimal:
    """Return a decimal with so many fraction digits."""
    return Decimal((0, (1,), -scale))


def at_scale(value: Decimal, scale: int) -> Decimal | None:
    """Return the same finite number with exactly `scale` fraction digits, or None if that would
    drop digits."""
    if value.same_quantum(_quantum(scale)):
        return value
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    missing = scale + exponent
    if missing < 0:
        if any(digits[missing:]) or (-missing > len(digits) and any(digits)):
            return None
        digits = digits[:missing] or (0,)
    elif missing > 0:
        digits = digits + (0,) * missing
    return Decimal((sign, digits, -scale))
