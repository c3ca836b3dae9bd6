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
from typing import NoReturn

import numpy as np

from headrace.debezium import decimals, temporal
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


def bit(text: bytes) -> bool:
    """A bit string of length one; an empty one (bit varying) is false."""
    if text not in (b"0", b"1", b""):
        refuse("bit(1)")
    return text == b"1"


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


_DATE = re.compile(rb"([0-9]{4,7})-([0-9]{2})-([0-9]{2})( BC)?")
_TIME = re.compile(rb"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")
_OFFSET = re.compile(rb"([+-])([0-9]{2})(?::([0-9]{2}))?(?::([0-9]{2}))?")
_TIMESTAMP = re.compile(rb"([0-9]{4,7}-[0-9]{2}-[0-9]{2}) ([0-9:.]{8,15})([+-][0-9:]{2,8})?( BC)?")


def date(text: bytes) -> int:
    """Days since 1970-01-01; the infinities are Debezium's two constants."""
    if text == b"infinity":
        return temporal.POSITIVE_INFINITY_DAYS
    if text == b"-infinity":
        return temporal.NEGATIVE_INFINITY_DAYS
    return _days(text)


def _days(text: bytes) -> int:
    found = _DATE.fullmatch(text)
    if found is None:
        refuse("date")
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    if found[4]:
        year = 1 - year
    if not temporal.is_civil_date(year, month, day):
        refuse("date")
    return temporal.epoch_day(year, month, day)


def time_micros(text: bytes) -> int:
    """Microseconds since midnight, up to and including 24:00:00."""
    found = _TIME.fullmatch(text)
    if found is None:
        refuse("time")
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    fraction = int((found[4] or b"").ljust(6, b"0"))
    micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction
    if minute > 59 or second > 59 or micros > temporal.MICROS_PER_DAY:
        refuse("time")
    return micros


def time_millis(text: bytes) -> int:
    """Milliseconds since midnight of a `time` with at most three fraction digits."""
    return _exact_millis(time_micros(text), "time(3)")


def timestamp_micros(text: bytes) -> int:
    """Microseconds since 1970-01-01 of a timestamp without time zone."""
    if text == b"infinity":
        return temporal.POSITIVE_INFINITY_MICROS
    if text == b"-infinity":
        return temporal.NEGATIVE_INFINITY_MICROS
    micros, offset = _timestamp(text)
    if offset is not None:
        refuse("timestamp")
    return micros


def timestamp_millis(text: bytes) -> int:
    """Milliseconds since 1970-01-01 of a timestamp with at most three fraction digits."""
    return _exact_millis(timestamp_micros(text), "timestamp(3)")


def timestamp_with_zone(text: bytes, *, digits: int) -> str:
    """ISO 8601 text in UTC with `digits` fraction digits (0: as needed), or an infinity."""
    if text in (b"infinity", b"-infinity"):
        return text.decode()
    micros, offset = _timestamp(text)
    if offset is None:
        refuse("timestamp with time zone")
    micros -= offset * 1_000_000
    if digits and micros % 10 ** (6 - digits):
        refuse(f"timestamp({digits}) with time zone")
    return temporal.zoned_timestamp(micros, digits)


def time_with_zone(text: bytes) -> str:
    """ISO 8601 time of day in UTC. Only 24:00:00 at UTC itself stays 24:00:00."""
    start = max(text.find(b"+"), text.find(b"-"))
    if start < 0:
        refuse("time with time zone")
    micros = time_micros(text[:start])
    offset = _offset_seconds(text[start:])
    if offset or micros != temporal.MICROS_PER_DAY:
        micros = (micros - offset * 1_000_000) % temporal.MICROS_PER_DAY
    return temporal.zoned_time(micros)


def _timestamp(text: bytes) -> tuple[int, int | None]:
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        refuse("timestamp")
    days = _days(found[1] + (found[4] or b""))
    micros = days * temporal.MICROS_PER_DAY + time_micros(found[2])
    if not temporal.NEGATIVE_INFINITY_MICROS < micros < temporal.POSITIVE_INFINITY_MICROS:
        refuse("timestamp")
    return micros, None if found[3] is None else _offset_seconds(found[3])


def _offset_seconds(text: bytes) -> int:
    found = _OFFSET.fullmatch(text)
    if found is None:
        refuse("time zone offset")
    seconds = int(found[2]) * 3600 + int(found[3] or 0) * 60 + int(found[4] or 0)
    return -seconds if found[1] == b"-" else seconds


def _exact_millis(micros: int, type_name: str) -> int:
    millis, rest = divmod(micros, 1000)
    if rest:
        refuse(type_name)
    return millis


# One item of an array: quoted with backslash escapes, or bare up to a separator.
_ITEM = re.compile(
    rb'"([^"\\]*(?:\\.[^"\\]*)*)"|([^"{},\\\s][^"{},\\]*(?:\\.[^"{},\\]*)*)', re.DOTALL
)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_BOUNDS = re.compile(rb"(?:\[-?[0-9]{1,10}:-?[0-9]{1,10}\])+=")


def array(text: bytes, *, element: Decoder, separator: bytes = b",") -> list[object] | None:
    """A one-dimensional array; None for one of more dimensions, which the schema cannot hold,
    and when an element's type cannot hold its value.

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
    items: list[object] = []
    position, end = 1, len(text) - 1
    while True:
        found = _ITEM.match(text, position, end)
        if found is None:
            refuse("array")
        quoted, bare = found[1], found[2]
        if bare == b"NULL":
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
