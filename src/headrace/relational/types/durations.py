"""Durations of years to seconds: Debezium's MicroDuration or its ISO 8601 text, depending on
`interval.handling.mode`, or a StructuredDuration.

headrace's text of a duration is `1 year 2 mons -3 days -04:05:06.789`: each part with its own sign,
and omitted if it is zero, except the time `00:00:00` of a duration without parts; and `infinity` or
`-infinity`, which none of the types can hold: they become null.
"""

from __future__ import annotations

import re
from functools import partial

from headrace.connect.encoding import Encoding
from headrace.debezium import durations, structured_time
from headrace.debezium.durations import Duration
from headrace.relational.types.declaration import TypeDeclaration
from headrace.relational.types.options import TypeOptions
from headrace.relational.types.texts import refuse


def duration(options: TypeOptions, precision: int) -> TypeDeclaration:
    """`precision` is the number of fraction digits that the column declares, 0 to 6."""
    if options.time_precision_mode == "structured":
        decoder = partial(duration_struct, precision=precision)
        return TypeDeclaration(
            structured_time.DURATION, Encoding.PYTHON, decoder, decoder(b"00:00:00")
        )
    if options.interval_handling_mode == "string":
        return TypeDeclaration(
            durations.INTERVAL, Encoding.PYTHON, duration_text, durations.ZERO_TEXT
        )
    return TypeDeclaration(durations.MICRO_DURATION, Encoding.PYTHON, duration_micros, 0)


_TEXT = re.compile(
    rb"(?:([+-]?[0-9]{1,10}) years?)? ?(?:([+-]?[0-9]{1,10}) mons?)? ?"
    rb"(?:([+-]?[0-9]{1,10}) days?)? ?"
    rb"(?:([+-]?)([0-9]{2,10}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?)?"
)


def _parts(text: bytes) -> Duration | None:
    """The parts of a duration; None for the infinities."""
    if text in (b"infinity", b"-infinity"):
        return None
    match = _TEXT.fullmatch(text)
    if match is None or not text:
        refuse("interval")
    years, months, days = (int(match[i] or 0) for i in (1, 2, 3))
    sign = -1 if match[4] == b"-" else 1
    hours, minutes, seconds = (sign * int(match[i] or 0) for i in (5, 6, 7))
    fraction = sign * int((match[8] or b"").ljust(6, b"0"))
    return Duration(years, months, days, hours, minutes, seconds * 1_000_000 + fraction)


def duration_micros(text: bytes) -> int | None:
    """Microseconds with months of 365.25/12 days."""
    parts = _parts(text)
    return None if parts is None else parts.total_micros()


def duration_text(text: bytes) -> str | None:
    """`P1Y2M3DT4H5M6.78S`, always with all parts."""
    parts = _parts(text)
    return None if parts is None else parts.text()


def duration_struct(text: bytes, *, precision: int) -> dict[str, object] | None:
    """A StructuredDuration."""
    parts = _parts(text)
    return None if parts is None else parts.struct(precision)
