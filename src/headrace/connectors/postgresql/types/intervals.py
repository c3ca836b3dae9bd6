"""interval: Debezium's MicroDuration or its ISO 8601 text, as `interval.handling.mode` says, or a
StructuredDuration."""

from __future__ import annotations

import re
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.connectors.postgresql.types.options import PostgresTypeOptions
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.debezium import durations, structured_time
from headrace.debezium.durations import Duration
from headrace.relational.types.declaration import Declaration
from headrace.relational.types.texts import refuse


def interval(_facts: TypeFacts, typmod: int, options: PostgresTypeOptions) -> Declaration:
    """`interval` of any precision and fields."""
    if options.time_precision_mode == "structured":
        decoder = partial(interval_struct, precision=6 if typmod < 0 else min(typmod & 0xFFFF, 6))
        return Declaration(structured_time.DURATION, Encoding.PYTHON, decoder, decoder(b"00:00:00"))
    if options.interval_handling_mode == "string":
        return Declaration(durations.INTERVAL, Encoding.PYTHON, interval_text, durations.ZERO_TEXT)
    return Declaration(durations.MICRO_DURATION, Encoding.PYTHON, interval_micros, 0)


# IntervalStyle=postgres.
_TEXT = re.compile(
    rb"(?:([+-]?[0-9]{1,10}) years?)? ?(?:([+-]?[0-9]{1,10}) mons?)? ?"
    rb"(?:([+-]?[0-9]{1,10}) days?)? ?"
    rb"(?:([+-]?)([0-9]{2,10}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?)?"
)


def parts(text: bytes) -> Duration | None:
    """The parts of an interval; None for the infinities."""
    if text in (b"infinity", b"-infinity"):
        return None
    found = _TEXT.fullmatch(text)
    if found is None or not text:
        refuse("interval")
    years, months, days = (int(found[i] or 0) for i in (1, 2, 3))
    sign = -1 if found[4] == b"-" else 1
    hours, minutes, seconds = (sign * int(found[i] or 0) for i in (5, 6, 7))
    fraction = sign * int((found[8] or b"").ljust(6, b"0"))
    return Duration(years, months, days, hours, minutes, seconds * 1_000_000 + fraction)


def interval_micros(text: bytes) -> int | None:
    """Microseconds with months of 365.25/12 days; None for the infinities."""
    duration = parts(text)
    return None if duration is None else duration.total_micros()


def interval_text(text: bytes) -> str | None:
    """`P1Y2M3DT4H5M6.78S`, always with all parts; None for the infinities."""
    duration = parts(text)
    return None if duration is None else duration.text()


def interval_struct(text: bytes, *, precision: int) -> dict[str, object] | None:
    """A StructuredDuration; None for the infinities, which it cannot hold."""
    duration = parts(text)
    return None if duration is None else duration.struct(precision)
