"""interval: Debezium's MicroDuration or its ISO 8601 text, as `interval.handling.mode` says, or a
StructuredDuration."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.types.type_facts import TypeFacts, TypeOptions
from headrace.relational.types import texts as values
from headrace.relational.types.declaration import Declaration
from headrace.debezium import structured_time

_MICRO_DURATION = Schema(Type.INT64, name="io.debezium.time.MicroDuration", version=1)
_INTERVAL = Schema(Type.STRING, name="io.debezium.time.Interval", version=1)
_DAYS_PER_MONTH = 365.25 / 12
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


def interval(_facts: TypeFacts, typmod: int, options: TypeOptions) -> Declaration:
    """`interval` of any precision and fields."""
    if options.time_precision_mode == "structured":
        decoder = partial(interval_struct, precision=6 if typmod < 0 else min(typmod & 0xFFFF, 6))
        return Declaration(structured_time.DURATION, Encoding.PYTHON, decoder, decoder(b"00:00:00"))
    if options.interval_handling_mode == "string":
        return Declaration(_INTERVAL, Encoding.PYTHON, interval_text, "P0Y0M0DT0H0M0S")
    return Declaration(_MICRO_DURATION, Encoding.PYTHON, interval_micros, 0)


class Parts(NamedTuple):
    """An interval as it was written."""

    years: int
    months: int
    days: int
    hours: int
    minutes: int
    micros: int
    """Of the seconds and their fraction."""


# IntervalStyle=postgres.
_TEXT = re.compile(
    rb"(?:([+-]?[0-9]{1,10}) years?)? ?(?:([+-]?[0-9]{1,10}) mons?)? ?"
    rb"(?:([+-]?[0-9]{1,10}) days?)? ?"
    rb"(?:([+-]?)([0-9]{2,10}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?)?"
)


def parts(text: bytes) -> Parts | None:
    """None for the infinities."""
    if text in (b"infinity", b"-infinity"):
        return None
    found = _TEXT.fullmatch(text)
    if found is None or not text:
        values.refuse("interval")
    years, months, days = (int(found[i] or 0) for i in (1, 2, 3))
    sign = -1 if found[4] == b"-" else 1
    hours, minutes, seconds = (sign * int(found[i] or 0) for i in (5, 6, 7))
    fraction = sign * int((found[8] or b"").ljust(6, b"0"))
    return Parts(years, months, days, hours, minutes, seconds * 1_000_000 + fraction)


def interval_micros(text: bytes) -> int | None:
    """Microseconds with months of 365.25/12 days; None for the infinities.

    In doubles, as Debezium adds them up, cut to whole numbers; beyond 64 bits the largest.
    """
    found = parts(text)
    if found is None:
        return None
    days = (found.years * 12 + found.months) * _DAYS_PER_MONTH + found.days
    seconds = found.micros / 1_000_000
    micros = (((days * 24.0 + found.hours) * 60.0 + found.minutes) * 60.0 + seconds) * 1_000_000.0
    return max(_LONG_MIN, min(_LONG_MAX, int(micros)))


def interval_text(text: bytes) -> str | None:
    """`P1Y2M3DT4H5M6.78S`, always with all parts; None for the infinities."""
    found = parts(text)
    if found is None:
        return None
    seconds = Decimal(found.micros).scaleb(-6).normalize()
    return f"P{found.years}Y{found.months}M{found.days}DT{found.hours}H{found.minutes}M{seconds:f}S"


def interval_struct(text: bytes, *, precision: int) -> dict[str, object] | None:
    """A StructuredDuration; None for the infinities, which it cannot hold."""
    found = parts(text)
    if found is None:
        return None
    sign = -1 if found.micros < 0 else 1
    seconds, rest = divmod(abs(found.micros), 1_000_000)
    return structured_time.struct_of(
        structured_time.DURATION,
        years=found.years,
        months=found.months,
        days=found.days,
        hours=found.hours,
        minutes=found.minutes,
        seconds=sign * seconds,
        nanos=sign * rest * 1000,
        precision=precision,
    )
