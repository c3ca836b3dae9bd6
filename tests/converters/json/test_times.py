"""Dates, times and timestamps as JSON, against plain Python."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import example
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from tests.converters.json.encoders import (
    EPOCH,
    MICROSECOND,
    encoded,
    encoded_fast,
    given,
)


@given(st.dates())
@example(dt.date(1, 1, 1))
@example(dt.date(9999, 12, 31))
def test_a_date_becomes_days(value: dt.date) -> None:
    expected = str((value - EPOCH.date()).days).encode()
    assert encoded(value.isoformat(), Encoding.DATE) == expected


def test_every_day_of_four_centuries_and_no_other() -> None:
    for year in (*range(1, 5), *range(1896, 1905), *range(1996, 2005), 2100, 2400, 9999):
        for month in range(14):
            for day in range(33):
                text = f"{year:04d}-{month:02d}-{day:02d}"
                try:
                    value = dt.date(year, month, day)
                except ValueError:
                    assert encoded_fast(text, Encoding.DATE) is None
                else:
                    days = str((value - EPOCH.date()).days).encode()
                    assert encoded_fast(text, Encoding.DATE) == days


@pytest.mark.parametrize(
    "text",
    [
        "infinity",
        "-infinity",
        "0044-03-15 BC",
        "10000-01-01",
        "2024-1-1",
        "2024/01/01",
        "",
        "0000-01-01",
    ],
)
def test_an_unusual_date_is_left_to_python(text: str) -> None:
    assert encoded(text, Encoding.DATE) is None


def clock_text(value: dt.datetime | dt.time) -> str:
    fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
    return f"{value:%H:%M:%S}{fraction}"


def timestamp_text(value: dt.datetime) -> str:
    return f"{value.date().isoformat()} {clock_text(value)}"


@given(st.times())
@example(dt.time(23, 59, 59, 999999))
def test_a_time_becomes_milliseconds_or_microseconds(value: dt.time) -> None:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    micros = seconds * 1000000 + value.microsecond
    assert encoded(clock_text(value), Encoding.TIME_US) == str(micros).encode()
    assert encoded(clock_text(value), Encoding.TIME_MS) == str(micros // 1000).encode()


def test_a_time_may_be_the_end_of_the_day_and_nothing_later() -> None:
    assert encoded("24:00:00", Encoding.TIME_US) == b"86400000000"
    assert encoded("24:00:00", Encoding.TIME_MS) == b"86400000"
    for text in ("24:00:00.1", "24:00:01", "25:00:00", "12:60:00", "12:00:60", "1:00:00", "12:00"):
        assert encoded(text, Encoding.TIME_US) is None
    for text in ("12:00:00.", "12:00:00.1234567", "12:00:00,5", "12:00:00.5x", "12:00:00+00"):
        assert encoded(text, Encoding.TIME_US) is None


@given(st.datetimes())
@example(EPOCH.replace(year=1))
@example(EPOCH.replace(year=9999, month=12, day=31, hour=23, microsecond=999999))
@example(EPOCH - MICROSECOND)
def test_a_timestamp_becomes_milliseconds_or_microseconds(value: dt.datetime) -> None:
    micros = (value - EPOCH) // MICROSECOND
    text = timestamp_text(value)
    assert encoded(text, Encoding.TIMESTAMP_US) == str(micros).encode()
    assert encoded(text, Encoding.TIMESTAMP_MS) == str(micros // 1000).encode()


@given(st.datetimes(), st.integers(0, 6))
def test_a_timestamp_with_time_zone_has_the_columns_precision(
    value: dt.datetime, digits: int
) -> None:
    if digits:
        step = 10 ** (6 - digits)
        value = value.replace(microsecond=value.microsecond // step * step)
    text = timestamp_text(value)
    fraction = f".{value.microsecond:06d}"[: digits + 1]
    if digits == 0:
        fraction = text[19:]
    expected = f'"{value.date().isoformat()}T{value:%H:%M:%S}{fraction}Z"'
    assert encoded(f"{text}+00", Encoding.TIMESTAMPTZ, digits) == expected.encode()


@pytest.mark.parametrize(
    "text",
    [
        "infinity",
        "-infinity",
        "0044-03-15 12:00:00+00 BC",
        "10000-01-01 00:00:00+00",
        "2024-01-01 00:00:00+01",
        "2024-01-01 00:00:00-00",
        "2024-01-01 00:00:00",
        "2024-01-01 00:00:00.1234+00",
        "2024-01-01T00:00:00+00",
        "2024-13-01 00:00:00+00",
        "+00",
        "",
    ],
)
def test_an_unusual_timestamp_is_left_to_python(text: str) -> None:
    assert encoded(text, Encoding.TIMESTAMPTZ, 3) is None
    assert encoded(text.removesuffix("+00") + "x", Encoding.TIMESTAMP_US) is None
