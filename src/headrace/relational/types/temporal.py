"""date, time and timestamp, with and without time zone, as `time.precision.mode` says."""

from __future__ import annotations

from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connectors.postgresql.types.type_facts import TypeFacts, TypeOptions
from headrace.relational.types import structured as structured_types
from headrace.relational.types import temporal_texts as temporal_values
from headrace.relational.types.declaration import Declaration, signed_bytes, text_of
from headrace.debezium import temporal

_TIME_MS = Declaration(temporal.TIME, Encoding.TIME_MS, temporal_values.time_millis, 0)
_TIME_US = Declaration(temporal.MICRO_TIME, Encoding.TIME_US, temporal_values.time_micros, 0)
_TIMESTAMP_MS = Declaration(
    temporal.TIMESTAMP, Encoding.TIMESTAMP_MS, temporal_values.timestamp_millis, 0
)
_TIMESTAMP_US = Declaration(
    temporal.MICRO_TIMESTAMP, Encoding.TIMESTAMP_US, temporal_values.timestamp_micros, 0
)

_DATES = {
    "connect": Declaration(temporal.CONNECT_DATE, Encoding.DATE, temporal_values.date, 0),
    "isostring": Declaration(
        temporal.ISO_DATE, Encoding.ISO_DATE, temporal_values.date_text, "1970-01-01Z"
    ),
}
_DATE = Declaration(
    temporal.DATE, Encoding.DATE, temporal_values.date, 0, toasted_array=signed_bytes
)

_TIMES = {
    "adaptive_time_microseconds": _TIME_US,
    "microseconds": _TIME_US,
    "connect": Declaration(temporal.CONNECT_TIME, Encoding.TIME_MS, temporal_values.time_millis, 0),
    "isostring": Declaration(
        temporal.ISO_TIME, Encoding.ISO_TIME, temporal_values.time_text, "00:00:00Z"
    ),
    "nanoseconds": Declaration(temporal.NANO_TIME, Encoding.TIME_NS, temporal_values.time_nanos, 0),
}
_TIMESTAMPS = {
    "microseconds": _TIMESTAMP_US,
    "connect": Declaration(
        temporal.CONNECT_TIMESTAMP, Encoding.TIMESTAMP_MS, temporal_values.timestamp_millis, 0
    ),
    "isostring": Declaration(
        temporal.ISO_TIMESTAMP,
        Encoding.ISO_TIMESTAMP,
        temporal_values.timestamp_text,
        "1970-01-01T00:00:00Z",
    ),
    "nanoseconds": Declaration(
        temporal.NANO_TIMESTAMP, Encoding.TIMESTAMP_NS, temporal_values.timestamp_nanos, 0
    ),
}
_TIME_WITH_ZONE = Declaration(
    temporal.ZONED_TIME,
    Encoding.TIMETZ,
    temporal_values.time_with_zone,
    "00:00:00Z",
    toasted=text_of,
)


def _precision(typmod: int) -> int:
    """Fraction digits of a time or timestamp: 6 when the column declares none."""
    return typmod if 0 <= typmod <= 6 else 6


def date(_facts: TypeFacts, _typmod: int, options: TypeOptions) -> Declaration:
    """`date`."""
    if options.time_precision_mode == "structured":
        return structured_types.date()
    return _DATES.get(options.time_precision_mode, _DATE)


def time(_facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration:
    """`time`; the adaptive mode looks at the declared precision."""
    if options.time_precision_mode == "structured":
        return structured_types.time(_precision(typmod))
    found = _TIMES.get(options.time_precision_mode)
    if found is not None:
        return found
    return _TIME_MS if temporal.in_millis(_precision(typmod)) else _TIME_US


def timestamp(_facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration:
    """`timestamp`; the adaptive modes look at the declared precision."""
    if options.time_precision_mode == "structured":
        return structured_types.timestamp(_precision(typmod))
    found = _TIMESTAMPS.get(options.time_precision_mode)
    if found is not None:
        return found
    return _TIMESTAMP_MS if temporal.in_millis(_precision(typmod)) else _TIMESTAMP_US


def time_with_zone(_facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration:
    """`timetz`, the same in every mode but `structured`."""
    if options.time_precision_mode == "structured":
        return structured_types.time_with_zone(_precision(typmod))
    return _TIME_WITH_ZONE


def timestamp_with_zone(_facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration:
    """`timestamptz`, the same in every mode but `structured`."""
    digits = _precision(typmod)
    if options.time_precision_mode == "structured":
        return structured_types.timestamp_with_zone(digits)
    return Declaration(
        temporal.ZONED_TIMESTAMP,
        Encoding.TIMESTAMPTZ,
        partial(temporal_values.timestamp_with_zone, digits=digits),
        "1970-01-01T00:00:00Z",
        parameter=digits,
    )
