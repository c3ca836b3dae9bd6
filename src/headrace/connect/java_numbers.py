"""Floating-point numbers as Java writes them: the shortest digits that identify them (Java 19)."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np


def java_double(value: float) -> str:
    """Java's Double.toString (19 and later): `1.0E10`, `0.1`, `-0.0`, `NaN`, `Infinity`."""
    if not math.isfinite(value) or value == 0.0:
        return _special(value)
    return _java_notation(repr(value), value, float)


def java_float(value: float) -> str:
    """Java's Float.toString (19 and later) of `value` rounded to 32 bits."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    exact = float(single)
    if not math.isfinite(exact) or exact == 0.0:
        return _special(exact)
    shortest = np.format_float_scientific(single, unique=True, trim="-")
    return _java_notation(shortest, exact, lambda text: float(np.float32(text)))


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    return sign + ("Infinity" if math.isinf(value) else "0.0")


def _java_notation(shortest: str, value: float, parse: Callable[[str], float]) -> str:
    """Lay out the digits of `shortest` as Java does.

    Java takes at least two digits: where one digit would identify the number, it writes the two
    that are nearest (4.9E-324, not 5.0E-324).
    """
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    assert isinstance(exponent, int)
    if len(digits) == 1:
        candidate = f"{Decimal(value):.1e}"
        if parse(candidate) == value:
            sign, digits, exponent = Decimal(candidate).normalize().as_tuple()
            assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent  # position of the decimal point, counted from the first digit
    minus = "-" if sign else ""
    if -3 < point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{text}"
        return f"{minus}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"
