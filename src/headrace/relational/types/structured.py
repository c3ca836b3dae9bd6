"""Dates, times and timestamps with `time.precision.mode=structured`."""

from __future__ import annotations

from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema
from headrace.debezium import structured_time, temporal
from headrace.debezium.structured_time import clock_parts, day_parts, struct_of
from headrace.relational.types import temporal_texts, texts
from headrace.relational.types.declaration import TypeDeclaration

_SPECIAL = {
    b"infinity": structured_time.POSITIVE_INFINITY,
    b"-infinity": structured_time.NEGATIVE_INFINITY,
}


def date_value(text: bytes) -> dict[str, object]:
    """A StructuredDate."""
    schema = structured_time.DATE
    if text in _SPECIAL:
        return struct_of(schema, specialValue=_SPECIAL[text])
    return struct_of(schema, **day_parts(*temporal.civil_date(temporal_texts.date(text))))


def time_value(text: bytes, *, precision: int) -> dict[str, object]:
    """A StructuredTime."""
    parts = clock_parts(temporal_texts.time_micros(text))
    return struct_of(structured_time.TIME, **parts, precision=precision)


def time_with_zone_value(text: bytes, *, precision: int) -> dict[str, object]:
    """A StructuredZonedTime with the value's offset."""
    micros, offset = temporal_texts.time_and_offset(text)
    return struct_of(
        structured_time.ZONED_TIME,
        **clock_parts(micros),
        offsetSeconds=offset,
        precision=precision,
    )


def timestamp_value(text: bytes, *, precision: int) -> dict[str, object]:
    """A StructuredTimestamp."""
    schema = structured_time.TIMESTAMP
    if text in _SPECIAL:
        return struct_of(schema, specialValue=_SPECIAL[text], precision=precision)
    micros, offset = temporal_texts.timestamp_and_offset(text)
    if offset is not None:
        texts.refuse("timestamp")
    return struct_of(schema, **_parts(micros), precision=precision)


def timestamp_with_zone_value(text: bytes, *, precision: int) -> dict[str, object]:
    """A StructuredZonedTimestamp, in UTC."""
    schema = structured_time.ZONED_TIMESTAMP
    if text in _SPECIAL:
        return struct_of(schema, specialValue=_SPECIAL[text], precision=precision)
    micros, offset = temporal_texts.timestamp_and_offset(text)
    if offset is None:
        texts.refuse("timestamp with time zone")
    parts = _parts(micros - offset * 1_000_000)
    return struct_of(schema, **parts, offsetSeconds=0, precision=precision)


def _parts(micros: int) -> dict[str, object]:
    days, rest = divmod(micros, temporal.MICROS_PER_DAY)
    return day_parts(*temporal.civil_date(days)) | clock_parts(rest)


def _declared(schema: Schema, decoder: texts.Decoder, zero: bytes) -> TypeDeclaration:
    return TypeDeclaration(schema, Encoding.PYTHON, decoder, decoder(zero))


def date() -> TypeDeclaration:
    """A day."""
    return _declared(structured_time.DATE, date_value, b"1970-01-01")


def time(precision: int) -> TypeDeclaration:
    """A time of day."""
    decoder = partial(time_value, precision=precision)
    return _declared(structured_time.TIME, decoder, b"00:00:00")


def time_with_zone(precision: int) -> TypeDeclaration:
    """A time of day with an offset."""
    decoder = partial(time_with_zone_value, precision=precision)
    return _declared(structured_time.ZONED_TIME, decoder, b"00:00:00+00")


def timestamp(precision: int) -> TypeDeclaration:
    """A timestamp without time zone."""
    decoder = partial(timestamp_value, precision=precision)
    return _declared(structured_time.TIMESTAMP, decoder, b"1970-01-01 00:00:00")


def timestamp_with_zone(precision: int) -> TypeDeclaration:
    """An instant."""
    decoder = partial(timestamp_with_zone_value, precision=precision)
    return _declared(structured_time.ZONED_TIMESTAMP, decoder, b"1970-01-01 00:00:00+00")
