"""Converts columns of the driver's values to headrace's texts (headrace.connect.encoding), by
Arrow.

The driver returns Python objects: integers, floats, texts, bytes, Decimal or its text, date, time
and datetime. Every function takes one column's values (None is null) and returns them as
large_string.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
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
from headrace.relational.rows.texts import (
    TEXTS,
    Values,
    booleans,
    decimal_texts,
    first_value,
    hexadecimal,
    strings,
)

_CLOCK = r"^(\d\d)[.:](\d\d)[.:](\d\d)$"
_STAMP = r"^(\d{4}-\d\d-\d\d)[- T](\d\d)[.:](\d\d)[.:](\d\d)(?:(\.\d{1,9})\d*)?"
_ZONE = r" ?([+-]\d\d:?\d\d|Z)$"


def _numbers(kind: pa.DataType) -> Callable[[Values], pa.Array]:
    def texts(values: Values) -> pa.Array:
        if isinstance(first_value(values), str):
            return decimal_texts(strings(values))
        return pa.array(values, kind).cast(TEXTS)

    return texts


def _decimals(values: Values) -> pa.Array:
    if isinstance(first_value(values), str):
        return decimal_texts(strings(values))
    return strings([None if value is None else format(value, "f") for value in values])


def _decimal_float(value: object) -> str | None:
    """Return a DECFLOAT as text without exponent."""
    if value is None:
        return None
    number = Decimal(str(value).strip().replace(",", "."))
    if number.is_nan():
        return "NaN"
    if number.is_infinite():
        return "Infinity" if number > 0 else "-Infinity"
    return format(number, "f")


def _decimal_floats(values: Values) -> pa.Array:
    return strings([_decimal_float(value) for value in values])


def _dates(values: Values) -> pa.Array:
    if isinstance(first_value(values), dt.date):
        return pa.array(values, pa.date32()).cast(TEXTS)
    return strings(values)


def _times(values: Values) -> pa.Array:
    if isinstance(first_value(values), dt.time):
        return pa.array(values, pa.time32("s")).cast(TEXTS)
    return pc.replace_substring_regex(strings(values), _CLOCK, r"\1:\2:\3")


def _timestamps(values: Values) -> pa.Array:
    if isinstance(first_value(values), dt.datetime):
        return pa.array(values, pa.timestamp("us")).cast(TEXTS)
    return pc.replace_substring_regex(strings(values), _STAMP, r"\1 \2:\3:\4\5")


def _zoned_timestamps(values: Values) -> pa.Array:
    """Db2 writes `2019-07-09-02.28.57.123456+02:00`."""
    if isinstance(first_value(values), dt.datetime):
        return strings(
            [None if value is None else value.isoformat(" ") for value in values]  # type: ignore[attr-defined]
        )
    texts = pc.replace_substring_regex(strings(values), _STAMP, r"\1 \2:\3:\4\5")
    texts = pc.replace_substring_regex(texts, _ZONE, r"\1")
    return pc.replace_substring_regex(texts, r"Z$|[+-]00:?00$", "+00")


_BY_NAME: dict[str, Callable[[Values], pa.Array]] = {
    "BOOLEAN": booleans,
    **dict.fromkeys(("SMALLINT", "INTEGER", "INT", "BIGINT"), _numbers(pa.int64())),
    "REAL": _numbers(pa.float32()),
    **dict.fromkeys(("DOUBLE", "FLOAT"), _numbers(pa.float64())),
    "DECFLOAT": _decimal_floats,
    **dict.fromkeys(DECIMALS, _decimals),
    **dict.fromkeys(BYTES, hexadecimal),
    **dict.fromkeys(DATES, _dates),
    **dict.fromkeys(TIMES, _times),
    **dict.fromkeys(TIMESTAMPS, _timestamps),
    **dict.fromkeys(ZONED_TIMESTAMPS, _zoned_timestamps),
}


def texts_of(type_name: str, values: Values) -> pa.Array:
    """Return the texts (large_string) of one column's values, null where they are null; `type_name`
    is the column's type (see `Db2Type.kind`)."""
    return _BY_NAME.get(type_name, strings)(values)
