"""Dates, times and timestamps, with and without time zone, depending on `time.precision.mode`.

`precision` is the number of fraction digits that a column declares: 0 to 6, or 0 to 12 for
timestamps without time zone. At most nine of them are read, as many as Java's Timestamp holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.debezium import temporal
from headrace.relational.types import structured, temporal_texts, texts
from headrace.relational.types.declaration import TypeDeclaration, signed_bytes, text_of

_MICROSECOND_DIGITS = 6
_FINE = re.compile(rb"(.*\.[0-9]{6})([0-9]{1,3})")
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1

_TIME_MS = TypeDeclaration(temporal.TIME, Encoding.TIME_MS, temporal_texts.time_millis, 0)
_TIME_US = TypeDeclaration(temporal.MICRO_TIME, Encoding.TIME_US, temporal_texts.time_micros, 0)
_TIMESTAMP_MS = TypeDeclaration(
    temporal.TIMESTAMP, Encoding.TIMESTAMP_MS, temporal_texts.timestamp_millis, 0
)
_TIMESTAMP_US = TypeDeclaration(
    temporal.MICRO_TIMESTAMP, Encoding.TIMESTAMP_US, temporal_texts.timestamp_micros, 0
)

_DATES = {
    "connect": TypeDeclaration(temporal.CONNECT_DATE, Encoding.DATE, temporal_texts.date, 0),
    "isostring": TypeDeclaration(
        temporal.ISO_DATE, Encoding.ISO_DATE, temporal_texts.date_text, "1970-01-01Z"
    ),
}
_DATE = TypeDeclaration(
    temporal.DATE, Encoding.DATE, temporal_texts.date, 0, unavailable_array=signed_bytes
)

_TIMES = {
    "adaptive_time_microseconds": _TIME_US,
    "microseconds": _TIME_US,
    "connect": TypeDeclaration(
        temporal.CONNECT_TIME, Encoding.TIME_MS, temporal_texts.time_millis, 0
    ),
    "isostring": TypeDeclaration(
        temporal.ISO_TIME, Encoding.ISO_TIME, temporal_texts.time_text, "00:00:00Z"
    ),
    "nanoseconds": TypeDeclaration(
        temporal.NANO_TIME, Encoding.TIME_NS, temporal_texts.time_nanos, 0
    ),
}
_TIMESTAMPS = {
    "microseconds": _TIMESTAMP_US,
    "connect": TypeDeclaration(
        temporal.CONNECT_TIMESTAMP, Encoding.TIMESTAMP_MS, temporal_texts.timestamp_millis, 0
    ),
    "isostring": TypeDeclaration(
        temporal.ISO_TIMESTAMP,
        Encoding.ISO_TIMESTAMP,
        temporal_texts.timestamp_text,
        "1970-01-01T00:00:00Z",
    ),
    "nanoseconds": TypeDeclaration(
        temporal.NANO_TIMESTAMP, Encoding.TIMESTAMP_NS, temporal_texts.timestamp_nanos, 0
    ),
}
_TIME_WITH_ZONE = TypeDeclaration(
    temporal.ZONED_TIME,
    Encoding.TIMETZ,
    temporal_texts.time_with_zone,
    "00:00:00Z",
    unavailable=text_of,
)


def date(mode: str) -> TypeDeclaration:
    """A day."""
    if mode == "structured":
        return structured.date()
    return _DATES.get(mode, _DATE)


def time(mode: str, precision: int) -> TypeDeclaration:
    """A time of day; the adaptive mode depends on the precision."""
    if mode == "structured":
        return structured.time(precision)
    declared = _TIMES.get(mode)
    if declared is not None:
        return declared
    return _TIME_MS if temporal.in_millis(precision) else _TIME_US


def timestamp(mode: str, precision: int) -> TypeDeclaration:
    """A timestamp without time zone; the adaptive modes depend on the precision."""
    if precision > _MICROSECOND_DIGITS:
        return _fine_timestamp(mode, precision)
    if mode == "structured":
        return structured.timestamp(precision)
    declared = _TIMESTAMPS.get(mode)
    if declared is not None:
        return declared
    return _TIMESTAMP_MS if temporal.in_millis(precision) else _TIMESTAMP_US


def time_with_zone(mode: str, precision: int) -> TypeDeclaration:
    """A time of day with an offset: the same in every mode but `structured`."""
    if mode == "structured":
        return structured.time_with_zone(precision)
    return _TIME_WITH_ZONE


def timestamp_with_zone(mode: str, precision: int) -> TypeDeclaration:
    """An instant: the same in every mode but `structured`."""
    if mode == "structured":
        return structured.timestamp_with_zone(precision)
    return TypeDeclaration(
        temporal.ZONED_TIMESTAMP,
        Encoding.TIMESTAMPTZ,
        partial(temporal_texts.timestamp_with_zone, digits=precision),
        "1970-01-01T00:00:00Z",
        parameter=precision,
    )


def _halves(text: bytes) -> tuple[bytes, int]:
    """The text up to the microsecond, and the nanoseconds after it."""
    match = _FINE.fullmatch(text)
    return (text, 0) if match is None else (match[1], int(match[2].ljust(3, b"0")))


@dataclass(frozen=True)
class _Cut:
    """A decoder that omits fractions smaller than a microsecond."""

    decoder: texts.Decoder

    def __call__(self, text: bytes) -> object:
        return self.decoder(_halves(text)[0])


def timestamp_nanos(text: bytes) -> int | None:
    """Nanoseconds since 1970-01-01; None beyond 64 bits."""
    coarse, nanos = _halves(text)
    micros = temporal_texts.timestamp_micros(coarse)
    if micros is None:
        return None
    value = micros * 1000 + nanos
    return value if _LONG_MIN <= value <= _LONG_MAX else None


def timestamp_text(text: bytes) -> str:
    """Return `2019-07-09T02:28:57.123456789Z`, the fraction as long as needed."""
    coarse, nanos = _halves(text)
    coarse_text = temporal_texts.timestamp_text(coarse)
    if nanos == 0:
        return coarse_text
    whole, _, fraction = coarse_text.removesuffix("Z").partition(".")
    return f"{whole}.{fraction.ljust(6, '0')}{nanos:03}".rstrip("0") + "Z"


@dataclass(frozen=True)
class _Structured:
    """A decoder whose values are StructuredTimestamps."""

    precision: int

    def __call__(self, text: bytes) -> dict[str, object]:
        coarse, nanos = _halves(text)
        value = structured.timestamp_value(coarse, precision=self.precision)
        if nanos:
            value = {**value, "nanos": int(str(value["nanos"])) + nanos}
        return value


_NANOS = TypeDeclaration(temporal.NANO_TIMESTAMP, Encoding.TIMESTAMP_NS, timestamp_nanos, 0)


def _fine_timestamp(mode: str, precision: int) -> TypeDeclaration:
    """A timestamp of seven digits or more, which only fits in nanoseconds. Modes with a fixed unit
    truncate smaller fractions, as in Debezium."""
    if mode == "structured":
        return replace(structured.timestamp(precision), decoder=_Structured(precision))
    if mode == "isostring":
        declared = timestamp(mode, _MICROSECOND_DIGITS)
        return replace(declared, encoding=Encoding.PYTHON, decoder=timestamp_text)
    if mode in ("microseconds", "connect"):
        declared = timestamp(mode, _MICROSECOND_DIGITS)
        return replace(declared, encoding=Encoding.PYTHON, decoder=_Cut(declared.decoder))
    return _NANOS
