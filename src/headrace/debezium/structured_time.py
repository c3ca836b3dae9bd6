"""`time.precision.mode=structured`: dates and times as structs of their parts, as in Debezium 3.7.

Every field is optional; a struct with `specialValue` (POSITIVE_INFINITY, NEGATIVE_INFINITY) has no
other parts. `precision` is the number of fraction digits that the column declares.
"""

from __future__ import annotations

from headrace.connect.schema import Field, Schema, Type

POSITIVE_INFINITY, NEGATIVE_INFINITY = "POSITIVE_INFINITY", "NEGATIVE_INFINITY"

_TYPES = {
    "year": Type.INT32,
    "month": Type.INT8,
    "day": Type.INT8,
    "hour": Type.INT8,
    "minute": Type.INT8,
    "second": Type.INT8,
    "nanos": Type.INT32,
    "offsetSeconds": Type.INT32,
    "zoneId": Type.STRING,
    "years": Type.INT32,
    "months": Type.INT32,
    "days": Type.INT32,
    "hours": Type.INT32,
    "minutes": Type.INT32,
    "seconds": Type.INT64,
    "specialValue": Type.STRING,
    "precision": Type.INT32,
}


def _struct(name: str, *fields: str) -> Schema:
    return Schema(
        Type.STRUCT,
        name=f"io.debezium.time.{name}",
        version=1,
        fields=tuple(Field(field, Schema(_TYPES[field], optional=True)) for field in fields),
    )


_DAY = ("year", "month", "day")
_CLOCK = ("hour", "minute", "second", "nanos")

DATE = _struct("StructuredDate", *_DAY, "specialValue")
TIME = _struct("StructuredTime", *_CLOCK, "precision")
TIMESTAMP = _struct("StructuredTimestamp", *_DAY, *_CLOCK, "specialValue", "precision")
ZONED_TIME = _struct("StructuredZonedTime", *_CLOCK, "offsetSeconds", "precision")
ZONED_TIMESTAMP = _struct(
    "StructuredZonedTimestamp",
    *_DAY,
    *_CLOCK,
    "offsetSeconds",
    "zoneId",
    "specialValue",
    "precision",
)
DURATION = _struct(
    "StructuredDuration",
    "years",
    "months",
    "days",
    "hours",
    "minutes",
    "seconds",
    "nanos",
    "precision",
)


def struct_of(schema: Schema, **parts: object) -> dict[str, object]:
    """The value with these parts; all other fields are null."""
    return {field.name: parts.get(field.name) for field in schema.fields}


def day_parts(year: int, month: int, day: int) -> dict[str, object]:
    """The parts of a date; `year` is astronomical (1 BC is 0)."""
    return {"year": year, "month": month, "day": day}


def clock_parts(micros: int) -> dict[str, object]:
    """The parts of microseconds since midnight, up to and including 24:00:00."""
    seconds, rest = divmod(micros, 1_000_000)
    return {
        "hour": seconds // 3600,
        "minute": seconds // 60 % 60,
        "second": seconds % 60,
        "nanos": rest * 1000,
    }
