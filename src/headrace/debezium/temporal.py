"""Debezium's temporal types: schema builders and conversions to their integers and texts.

Years are astronomical (1 BC is year 0) and the calendar is the proleptic Gregorian one, as in
java.time. Python's `datetime` ends at year 9999, so dates are computed as day numbers here.
"""

from __future__ import annotations

from headrace.connect.schema import Schema, Type

MICROS_PER_DAY = 86_400_000_000

POSITIVE_INFINITY = "infinity"
NEGATIVE_INFINITY = "-infinity"
# Values that Debezium emits for infinity. The micros are those of the JDBC driver's instants; the
# days are these instants cut to a 32-bit day number, as in the streaming path.
POSITIVE_INFINITY_MICROS = 9_223_372_036_825_200_000
NEGATIVE_INFINITY_MICROS = -9_223_372_036_832_400_000
POSITIVE_INFINITY_DAYS = -2_147_472_692
NEGATIVE_INFINITY_DAYS = -2_147_472_691

# The widest range of any database: from 4714-11-24 BC to the year 294277, rounded.
MIN_MICROS = -210_866_803_200_000_000
LARGEST_MICROS = 9_224_318_016_000_000_000

DATE = Schema(Type.INT32, name="io.debezium.time.Date", version=1)
TIME = Schema(Type.INT32, name="io.debezium.time.Time", version=1)
MICRO_TIME = Schema(Type.INT64, name="io.debezium.time.MicroTime", version=1)
TIMESTAMP = Schema(Type.INT64, name="io.debezium.time.Timestamp", version=1)
MICRO_TIMESTAMP = Schema(Type.INT64, name="io.debezium.time.MicroTimestamp", version=1)
NANO_TIME = Schema(Type.INT64, name="io.debezium.time.NanoTime", version=1)
NANO_TIMESTAMP = Schema(Type.INT64, name="io.debezium.time.NanoTimestamp", version=1)
ISO_DATE = Schema(Type.STRING, name="io.debezium.time.IsoDate", version=1)
ISO_TIME = Schema(Type.STRING, name="io.debezium.time.IsoTime", version=1)
ISO_TIMESTAMP = Schema(Type.STRING, name="io.debezium.time.IsoTimestamp", version=1)
CONNECT_DATE = Schema(Type.INT32, name="org.apache.kafka.connect.data.Date", version=1)
CONNECT_TIME = Schema(Type.INT32, name="org.apache.kafka.connect.data.Time", version=1)
CONNECT_TIMESTAMP = Schema(Type.INT64, name="org.apache.kafka.connect.data.Timestamp", version=1)
ZONED_TIME = Schema(Type.STRING, name="io.debezium.time.ZonedTime", version=1)
ZONED_TIMESTAMP = Schema(Type.STRING, name="io.debezium.time.ZonedTimestamp", version=1)

MILLIS_PRECISION = 3
"""The largest declared precision that adaptive mode renders in milliseconds."""


def in_millis(precision: int) -> bool:
    """Whether adaptive mode renders a declared precision (fraction digits) in milliseconds."""
    return precision <= MILLIS_PRECISION


def epoch_day(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01; `year` is astronomical.

    Counts from March, so that the leap day is the last of its year.
    """
    if month <= 2:
        year -= 1
        month += 12
    day_of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - 719_468


def civil_date(days: int) -> tuple[int, int, int]:
    """Astronomical year, month and day of a day number: the inverse of `epoch_day`."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return era * 400 + year_of_era + (month <= 2), month, day


def is_civil_date(year: int, month: int, day: int) -> bool:
    """Whether the date exists."""
    return (
        1 <= month <= 12
        and 1 <= day <= 31
        and civil_date(epoch_day(year, month, day)) == (year, month, day)
    )


def zoned_timestamp(micros: int, digits: int) -> str:
    """ISO 8601 text of an instant in UTC, given in microseconds since 1970-01-01.

    `digits` fraction digits are written; 0 means as many as needed. Years above 9999 have a plus
    sign, years before 1 BC a minus sign (`DateTimeFormatter.ISO_LOCAL_DATE`).
    """
    days, of_day = divmod(micros, MICROS_PER_DAY)
    return f"{iso_date(days)}T{_clock(of_day, digits)}Z"


def iso_date(days: int) -> str:
    """ISO 8601 text of a day number, without a zone."""
    year, month, day = civil_date(days)
    if year > 9999:
        year_text = f"+{year}"
    elif year < 0:
        year_text = f"-{-year:04}"
    else:
        year_text = f"{year:04}"
    return f"{year_text}-{month:02}-{day:02}"


def zoned_time(micros: int) -> str:
    """ISO 8601 text of a time of day in UTC, with as many fraction digits as needed.

    `micros` is less than 86,400,000,000.
    """
    return f"{_clock(micros, 0)}Z"


def _clock(micros: int, digits: int) -> str:
    seconds, fraction = divmod(micros, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{fraction:06}"
    text = text[:digits].ljust(digits, "0") if digits else text.rstrip("0")
    return f"{hour:02}:{minute:02}:{second:02}" + (f".{text}" if text else "")
