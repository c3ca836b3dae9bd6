"""Timestamps with seven to nine fraction digits, which fit in nanoseconds only.

Columns of up to twelve digits are read with nine, as Java's Timestamp holds them. Modes with a
fixed unit cut smaller fractions off, as Debezium does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.debezium import temporal
from headrace.relational.types import structured, temporal_texts, texts
from headrace.relational.types.declaration import Declaration
from headrace.relational.types.temporal import timestamp

MICROSECOND_DIGITS = 6
_FINE = re.compile(rb"(.*\.[0-9]{6})([0-9]{1,3})")
_LONG_MAX = 2**63 - 1


def _halves(text: bytes) -> tuple[bytes, int]:
    """The text to the microsecond, and the nanoseconds behind it."""
    match = _FINE.fullmatch(text)
    return (text, 0) if match is None else (match[1], int(match[2].ljust(3, b"0")))


@dataclass(frozen=True)
class _Cut:
    """A decoder that leaves out what is smaller than a microsecond."""

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
    return value if -_LONG_MAX <= value <= _LONG_MAX else None


def timestamp_text(text: bytes) -> str:
    """`2019-07-09T02:28:57.123456789Z`, the fraction as long as needed."""
    coarse, nanos = _halves(text)
    shown = temporal_texts.timestamp_text(coarse)
    if nanos == 0:
        return shown
    whole, _, fraction = shown.removesuffix("Z").partition(".")
    return f"{whole}.{fraction.ljust(6, '0')}{nanos:03}".rstrip("0") + "Z"


@dataclass(frozen=True)
class _Struct:
    """A StructuredTimestamp."""

    precision: int

    def __call__(self, text: bytes) -> dict[str, object]:
        coarse, nanos = _halves(text)
        value = structured.timestamp_value(coarse, precision=self.precision)
        if nanos:
            value = {**value, "nanos": int(str(value["nanos"])) + nanos}
        return value


_NANOS = Declaration(temporal.NANO_TIMESTAMP, Encoding.TIMESTAMP_NS, timestamp_nanos, 0)


def fine_timestamp(mode: str, precision: int) -> Declaration:
    """A timestamp without time zone of more than six fraction digits."""
    if mode == "structured":
        return replace(structured.timestamp(precision), decoder=_Struct(precision))
    if mode == "isostring":
        declared = timestamp(mode, MICROSECOND_DIGITS)
        return replace(declared, encoding=Encoding.PYTHON, decoder=timestamp_text)
    if mode in ("microseconds", "connect"):
        declared = timestamp(mode, MICROSECOND_DIGITS)
        return replace(declared, encoding=Encoding.PYTHON, decoder=_Cut(declared.decoder))
    return _NANOS
