"""Converts headrace's text of dates and times, ISO 8601 in UTC, to exact Connect values.

The contract is that of `headrace.relational.types.texts`.
"""

from __future__ import annotations

import re

from headrace.debezium import temporal
from headrace.relational.types.texts import refuse

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_DATE = re.compile(rb"([0-9]{4,7})-([0-9]{2})-([0-9]{2})( BC)?")
_TIME = re.compile(rb"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")
_OFFSET = re.compile(rb"([+-])([0-9]{2})(?::([0-9]{2}))?(?::([0-9]{2}))?")
_TIMESTAMP = re.compile(rb"([0-9]{4,7}-[0-9]{2}-[0-9]{2}) ([0-9:.]{8,15})([+-][0-9:]{2,8})?( BC)?")
_INFINITIES = (b"infinity", b"-infinity")


def date(text: bytes) -> int:
    """Days since 1970-01-01; the infinities are Debezium's two constants."""
    if text == b"infinity":
        return temporal.POSITIVE_INFINITY_DAYS
    if text == b"-infinity":
        return temporal.NEGATIVE_INFINITY_DAYS
    return _days(text)


def date_text(text: bytes) -> str:
    """Return `2017-09-15Z`; the infinities are the dates of Debezium's constants."""
    return temporal.iso_date(date(text)) + "Z"


def _days(text: bytes) -> int:
    match = _DATE.fullmatch(text)
    if match is None:
        refuse("date")
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if match[4]:
        year = 1 - year
    if not temporal.is_civil_date(year, month, day):
        refuse("date")
    return temporal.epoch_day(year, month, day)


def time_micros(text: bytes) -> int:
    """Microseconds since midnight, up to and including 24:00:00."""
    match = _TIME.fullmatch(text)
    if match is None:
        refuse("time")
    hour, minute, second = int(match[1]), int(match[2]), int(match[3])
    fraction = int((match[4] or b"").ljust(6, b"0"))
    micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction
    if minute > 59 or second > 59 or micros > temporal.MICROS_PER_DAY:
        refuse("time")
    return micros


def time_millis(text: bytes) -> int:
    """Milliseconds since midnight; smaller fractions are truncated."""
    return time_micros(text) // 1000


def time_nanos(text: bytes) -> int:
    """Nanoseconds since midnight."""
    return time_micros(text) * 1000


def time_text(text: bytes) -> str:
    """Return `04:05:11.789Z`; the end of the day is shown as its beginning, as in Debezium."""
    return temporal.zoned_time(time_micros(text) % temporal.MICROS_PER_DAY)


def timestamp_micros(text: bytes) -> int | None:
    """Microseconds since 1970-01-01 of a timestamp without time zone; None beyond 64 bits."""
    micros = _local_micros(text)
    return micros if micros <= _LONG_MAX else None


def timestamp_millis(text: bytes) -> int:
    """Milliseconds since 1970-01-01; smaller fractions are truncated."""
    return _local_micros(text) // 1000


def timestamp_nanos(text: bytes) -> int | None:
    """Nanoseconds since 1970-01-01; None beyond 64 bits, whose extremes represent the
    infinities."""
    if text in _INFINITIES:
        return _LONG_MIN if text[:1] == b"-" else _LONG_MAX
    nanos = _local_micros(text) * 1000
    return nanos if _LONG_MIN <= nanos <= _LONG_MAX else None


def timestamp_text(text: bytes) -> str:
    """Return `2019-07-09T02:28:57.1Z`, the fraction as long as needed."""
    return temporal.zoned_timestamp(_local_micros(text), 0)


def timestamp_with_zone(text: bytes, *, digits: int) -> str:
    """ISO 8601 text in UTC with `digits` fraction digits (0: as needed), or an infinity."""
    if text in _INFINITIES:
        return text.decode()
    micros, offset = timestamp_and_offset(text)
    if offset is None:
        refuse("timestamp with time zone")
    micros -= offset * 1_000_000
    if digits and micros % 10 ** (6 - digits):
        refuse(f"timestamp({digits}) with time zone")
    return temporal.zoned_timestamp(micros, digits)


def time_and_offset(text: bytes) -> tuple[int, int]:
    """Microseconds since midnight at an offset in seconds east of UTC."""
    start = max(text.find(b"+"), text.find(b"-"))
    if start < 0:
        refuse("time with time zone")
    return time_micros(text[:start]), _offset_seconds(text[start:])


def time_with_zone(text: bytes) -> str:
    """ISO 8601 time of day in UTC; 24:00 is midnight, because java.time has no 24:00."""
    micros, offset = time_and_offset(text)
    return temporal.zoned_time((micros - offset * 1_000_000) % temporal.MICROS_PER_DAY)


def _local_micros(text: bytes) -> int:
    """A timestamp without zone, its infinities being the instants of PostgreSQL's JDBC driver."""
    if text == b"infinity":
        return temporal.POSITIVE_INFINITY_MICROS
    if text == b"-infinity":
        return temporal.NEGATIVE_INFINITY_MICROS
    micros, offset = timestamp_and_offset(text)
    if offset is not None:
        refuse("timestamp")
    return micros


def timestamp_and_offset(text: bytes) -> tuple[int, int | None]:
    """Microseconds since 1970-01-01 at an offset in seconds; None when the text has none."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        refuse("timestamp")
    days = _days(match[1] + (match[4] or b""))
    micros = days * temporal.MICROS_PER_DAY + time_micros(match[2])
    # PostgreSQL's own limits: 4714-11-24 BC and the year 294276.
    if not temporal.MIN_MICROS <= micros <= temporal.LARGEST_MICROS:
        refuse("timestamp")
    return micros, None if match[3] is None else _offset_seconds(match[3])


def _offset_seconds(text: bytes) -> int:
    match = _OFFSET.fullmatch(text)
    if match is None:
        refuse("time zone offset")
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
    return -seconds if match[1] == b"-" else seconds
