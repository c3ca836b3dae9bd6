"""PostgreSQL's text of a value, as the server sends it, to the exact Connect value.

The session must use `DateStyle=ISO`, `TimeZone=UTC`, `bytea_output=hex` and
`extra_float_digits` of 1 or more. Every decoder takes the bytes of a non-null value; it returns
None for a value that its Connect type cannot hold, and raises HeadraceError
`postgresql.value_not_understood` for text that the server never sends for the type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import NoReturn

import numpy as np

from headrace.debezium import decimals
from headrace.errors import HeadraceError

Decoder = Callable[[bytes], object]


def refuse(type_name: str, remedy: str | None = None) -> NoReturn:
    """Raise for a text that is no value of the type. The text stays out of the message."""
    raise HeadraceError(
        "postgresql.value_not_understood",
        f"the server sent a text that is no {type_name} value in the expected format",
        remedy
        or "Do not override DateStyle, TimeZone, IntervalStyle, bytea_output, client_encoding or "
        "extra_float_digits for the connector's sessions.",
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


def bit(text: bytes) -> bool | None:
    """A bit string of length one; None for an empty one (bit varying)."""
    if text not in (b"0", b"1", b""):
        refuse("bit(1)")
    return text == b"1" if text else None


_BITS = re.compile(rb"[01]*")


def bits(text: bytes) -> bytes:
    """A bit string with its last bit first, as many bytes as the highest set bit needs."""
    if not _BITS.fullmatch(text):
        refuse("bit string")
    number = int(text or b"0", 2)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def string(text: bytes) -> str:
    """Any text; the client encoding is UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        refuse("UTF-8", "Convert the database from SQL_ASCII to UTF8, or exclude the column.")


_FLOAT = re.compile(rb"-?(?:[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,4})?|Infinity)|NaN")


def double(text: bytes) -> float:
    """A `double precision`."""
    if not _FLOAT.fullmatch(text):
        refuse("double precision")
    return float(text)


def single(text: bytes) -> float:
    """A `real`, as the nearest 32-bit number."""
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
    """A `numeric(p,s)` at its scale; None for NaN and the infinities."""
    value = _numeric(text)
    if not value.is_finite():
        return None
    scaled = decimals.at_scale(value, scale)
    if scaled is None:
        refuse(f"numeric of scale {scale}")
    return scaled


def variable_decimal(text: bytes) -> dict[str, object] | None:
    """A `numeric` without precision as a VariableScaleDecimal; None for NaN and the infinities."""
    value = _numeric(text)
    return decimals.variable_scale(value) if value.is_finite() else None


def numeric_double(text: bytes) -> float:
    """A `numeric` as the nearest double."""
    return float(_numeric(text))


def numeric_string(text: bytes, *, scale: int | None) -> str:
    """A `numeric` as plain text at its scale (None: as sent)."""
    value = _numeric(text)
    if value.is_finite() and scale is not None:
        scaled = decimals.at_scale(value, scale)
        if scaled is None:
            refuse(f"numeric of scale {scale}")
        value = scaled
    return decimals.plain_text(value)


_HEX = re.compile(rb"\\x((?:[0-9a-fA-F]{2})*)")


def bytea(text: bytes) -> bytes:
    r"""`\x…` in hexadecimal."""
    found = _HEX.fullmatch(text)
    if found is None:
        refuse(
            "bytea", "Set bytea_output=hex for the connector's role; the connector relies on it."
        )
    return bytes.fromhex(found[1].decode())


@lru_cache
def _item(separator: bytes) -> re.Pattern[bytes]:
    """One item of an array: quoted with backslash escapes, or bare up to a separator."""
    bare = rb'[^"{}\\%s]' % re.escape(separator)
    return re.compile(
        rb'"([^"\\]*(?:\\.[^"\\]*)*)"|(?!\s)(%s+(?:\\.%s*)*)' % (bare, bare), re.DOTALL
    )


_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_BOUNDS = re.compile(rb"(?:\[-?[0-9]{1,10}:-?[0-9]{1,10}\])+=")


def array(
    text: bytes, *, element: Decoder, separator: bytes = b",", nulls: bool = True
) -> list[object] | None:
    """A one-dimensional array; None for one of more dimensions, which the schema cannot hold,
    when an element's type cannot hold its value, and for null elements without `nulls`.

    Lower bounds other than 1 (`[0:1]={a,b}`) are not part of the value.
    """
    bounds = _BOUNDS.match(text)
    if bounds is not None:
        text = text[bounds.end() :]
    if text[:1] != b"{" or text[-1:] != b"}" or len(text) < 2:
        refuse("array")
    if text == b"{}":
        return []
    if text[1:2] == b"{":
        return None
    item_text = _item(separator)
    items: list[object] = []
    position, end = 1, len(text) - 1
    while True:
        found = item_text.match(text, position, end)
        if found is None:
            refuse("array")
        quoted, bare = found[1], found[2]
        if bare == b"NULL":
            if not nulls:
                return None
            items.append(None)
        else:
            item = element(_ESCAPE.sub(rb"\1", bare if quoted is None else quoted))
            if item is None:
                return None
            items.append(item)
        position = found.end()
        if position == end:
            return items
        if text[position : position + 1] != separator:
            refuse("array")
        position += 1
