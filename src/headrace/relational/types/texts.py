"""Converts headrace's text of a value to the exact Connect value: the fallback of compiled
encoders.

`headrace.connect.encoding` defines each text. Every decoder takes the bytes of a non-null value; it
returns None for a value that its Connect type cannot hold, and raises HeadraceError
`relational.value_not_understood` for a text that is not of the type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import NoReturn

import numpy as np

from headrace.connect.java_numbers import at_scale
from headrace.debezium import decimals
from headrace.errors import HeadraceError

Decoder = Callable[[bytes], object]


def refuse(type_name: str, remedy: str | None = None) -> NoReturn:
    """Raise the error for a text that is not a value of the type. The message does not contain the
    text."""
    raise HeadraceError(
        "relational.value_not_understood",
        f"the server sent a text that is not a valid {type_name} value in the expected format",
        remedy
        or "Do not override the formats of dates, numbers, bytes and characters for the "
        "connector's sessions.",
    )


_INTEGER = re.compile(rb"-?[0-9]{1,20}")


def integer(text: bytes, *, low: int, high: int) -> int:
    """An integer within its type's bounds (both inclusive)."""
    if not _INTEGER.fullmatch(text):
        refuse("integer")
    value = int(text)
    if not low <= value <= high:
        refuse("integer")
    return value


def boolean(text: bytes) -> bool:
    """`t` or `f`."""
    if text not in (b"t", b"f"):
        refuse("boolean")
    return text == b"t"


def string(text: bytes, remedy: str | None = None) -> str:
    """Any text in UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        refuse("UTF-8", remedy or "Convert the database to UTF-8, or exclude the column.")


_FLOAT = re.compile(rb"-?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,4})?|Infinity)|NaN")


def double(text: bytes) -> float:
    """A 64-bit floating-point number."""
    if not _FLOAT.fullmatch(text):
        refuse("double precision")
    return float(text)


def single(text: bytes) -> float:
    """A 32-bit floating-point number: the nearest one."""
    if not _FLOAT.fullmatch(text):
        refuse("real")
    with np.errstate(over="ignore"):
        return float(np.float32(text.decode()))


_NUMERIC = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?|NaN|-?Infinity")


def _numeric(text: bytes) -> Decimal:
    if not _NUMERIC.fullmatch(text):
        refuse("numeric")
    try:
        return Decimal(text.decode())
    except InvalidOperation:
        refuse("numeric")


def decimal(text: bytes, *, scale: int) -> Decimal | None:
    """A number at its column's scale; None for NaN and the infinities."""
    value = _numeric(text)
    if not value.is_finite():
        return None
    scaled = at_scale(value, scale)
    if scaled is None:
        refuse(f"numeric of scale {scale}")
    return scaled


def variable_decimal(text: bytes) -> dict[str, object] | None:
    """A number without a scale as a VariableScaleDecimal; None for NaN and the infinities."""
    value = _numeric(text)
    return decimals.variable_scale(value) if value.is_finite() else None


def numeric_double(text: bytes) -> float:
    """A decimal number as the nearest double."""
    return float(_numeric(text))


def numeric_string(text: bytes, *, scale: int | None) -> str:
    """A number as plain text with its scale (None: as sent)."""
    value = _numeric(text)
    if value.is_finite() and scale is not None:
        scaled = at_scale(value, scale)
        if scaled is None:
            refuse(f"numeric of scale {scale}")
        value = scaled
    return decimals.plain_text(value)


_HEX = re.compile(rb"\\x((?:[0-9a-fA-F]{2})*)")


def hexadecimal(text: bytes, remedy: str | None = None) -> bytes:
    r"""`\x…` in hexadecimal."""
    match = _HEX.fullmatch(text)
    if match is None:
        refuse("hexadecimal", remedy)
    return bytes.fromhex(match[1].decode())
