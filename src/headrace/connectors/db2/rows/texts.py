"""Columns of the driver's values to headrace's texts (headrace.connect.encoding), by Arrow.

The driver gives Python objects: integers, floats, texts, bytes, Decimal or its text, date, time and
datetime. Every function takes one column's values (None is null) and returns them as large_string.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headrace.connectors.db2.types.declarations import (
    BYTES,
    DATES,
    DECIMALS,
    TIMES,
    TIMESTAMPS,
    ZONED_TIMESTAMPS,
)

Values = Sequence[object]
TEXTS = pa.large_string()
_NO_WHOLE_PART = r"^(-?)\."
_NO_FRACTION = r"\.$"
_CLOCK = r"^(\d\d)[.:](\d\d)[.:](\d\d)$"
_STAMP = r"^(\d{4}-\d\d-\d\d)[- T](\d\d)[.:](\d\d)[.:](\d\d)(?:(\.\d{1,9})\d*)?"
_ZONE = r" ?([+-]\d\d:?\d\d|Z)$"


def _first(values: Values) -> object:
    return next((value for value in values if value is not None), None)


def _strings(values: Values) -> pa.Array:
    return pa.array(values, TEXTS)


def _numbers(kind: pa.DataType) -> Callable[[Values], pa.Array]:
    def texts(values: Values) -> pa.Array:
        if isinstance(_first(values), str):
            return _decimal_texts(_strings(values))
        return pa.array(values, kind).cast(TEXTS)

    return texts


def _booleans(values: Values) -> pa.Array:
    truths = [None if value is None else bool(int(str(int(value)))) for value in values]  # type: ignore[call-overload]
    return pc.if_else(pa.array(truths, pa.bool_()), "t", "f").cast(TEXTS)


def _decimal_texts(texts: pa.Array) -> pa.Array:
    """Texts of decimals with digits on both sides of the point: Db2 leaves zeros out."""
    if pc.any(pc.match_substring_regex(texts, r"^-?\.|\.$|,")).as_py():
        texts = pc.replace_substring(texts, ",", ".")
        texts = pc.replace_substring_regex(texts, _NO_WHOLE_PART, r"\10.")
        texts = pc.replace_substring_regex(texts, _NO_FRACTION, "")
    return texts


def _decimals(values: Values) -> pa.Array:
    if isinstance(_first(values), str):
        return _decimal_texts(_strings(values))
    return _strings([None if value is None else format(value, "f") for value in values])


def _decimal_float(value: object) -> str | None:
    """A DECFLOAT without exponent."""
    if value is None:
        return None
    number = Decimal(str(value).strip())
    if number.is_nan():
        return "NaN"
    if number.is_infinite():
        return "Infinity" if number > 0 else "-Infinity"
    return format(number, "f")


def _decimal_floats(values: Values) -> pa.Array:
    return _strings([_decimal_float(value) for value in values])


def _hexadecimal(values: Values) -> pa.Array:
    return _strings([None if value is None else "\\x" + bytes(value).hex() for value in values])  # type: ignore[call-overload]


def _dates(values: Values) -> pa.Array:
    if isinstance(_first(values), dt.date):
        return pa.array(values, pa.date32()).cast(TEXTS)
    return _strings(values)


def _times(values: Values) -> pa.Array:
    if isinstance(_first(values), dt.time):
        return pa.array(values, pa.time32("s")).cast(TEXTS)
    return pc.replace_substring_regex(_strings(values), _CLOCK, r"\1:\2:\3")


def _timestamps(values: Values) -> pa.Array:
    if isinstance(_first(values), dt.datetime):
        return pa.array(values, pa.timestamp("us")).cast(TEXTS)
    return pc.replace_substring_regex(_strings(values), _STAMP, r"\1 \2:\3:\4\5")


def _zoned_timestamps(values: Values) -> pa.Array:
    """Db2 writes `2019-07-09-02.28.57.123456+02:00`."""
    if isinstance(_first(values), dt.datetime):
        return _strings(
            [None if value is None else value.isoformat(" ") for value in values]  # type: ignore[attr-defined]
        )
    texts = pc.replace_substring_regex(_strings(values), _STAMP, r"\1 \2:\3:\4\5")
    texts = pc.replace_substring_regex(texts, _ZONE, r"\1")
    return pc.replace_substring_regex(texts, r"Z$|[+-]00:?00$", "+00")


_BY_NAME: dict[str, Callable[[Values], pa.Array]] = {
    "BOOLEAN": _booleans,
    **dict.fromkeys(("SMALLINT", "INTEGER", "INT", "BIGINT"), _numbers(pa.int64())),
    "REAL": _numbers(pa.float32()),
    **dict.fromkeys(("DOUBLE", "FLOAT"), _numbers(pa.float64())),
    "DECFLOAT": _decimal_floats,
    **dict.fromkeys(DECIMALS, _decimals),
    **dict.fromkeys(BYTES, _hexadecimal),
    **dict.fromkeys(DATES, _dates),
    **dict.fromkeys(TIMES, _times),
    **dict.fromkeys(TIMESTAMPS, _timestamps),
    **dict.fromkeys(ZONED_TIMESTAMPS, _zoned_timestamps),
}


def texts_of(type_name: str, values: Values) -> pa.Array:
    """The texts (large_string) of one column's values, null where they are; the column has this
    type (see `Db2Type.kind`)."""
    return _BY_NAME.get(type_name, _strings)(values)
