"""Patterns of SimpleDateFormat against Python's own calendar."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.transforms.kafka.times.date_format import DateFormat

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
INSTANTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)).map(  # noqa: DTZ001
    lambda at: (at.replace(tzinfo=dt.UTC) - EPOCH) // dt.timedelta(milliseconds=1)
)


def written(pattern: str, *millis: int) -> list[str]:
    return DateFormat(pattern).format(np.array(millis, np.int64)).to_pylist()


@given(st.lists(INSTANTS, min_size=1, max_size=5))
def test_each_letter_is_what_python_says_of_the_instant(millis: list[int]) -> None:
    texts = written("yyyy-MM-dd HH:mm:ss.SSS D EEEE MMM hh a u", *millis)
    for text, number in zip(texts, millis, strict=True):
        at = EPOCH + dt.timedelta(milliseconds=number)
        expected = at.strftime(f"{at.year:04}-%m-%d %H:%M:%S.") + f"{at.microsecond // 1000:03}"
        expected += f" {at.timetuple().tm_yday}" + at.strftime(" %A %b %I %p ")
        assert text == f"{expected}{at.isoweekday()}"


@pytest.mark.parametrize(
    "pattern",
    ["yyyy-MM-dd'T'HH:mm:ss.SSSX", "yyyyMMddHHmmssSSS", "EEE, d MMMM yyyy hh:mm:ss.SSS a Z",
     "yyyy DDD HH mm ss SSS", "dd.MM.yyyy 'o''clock' kk:mm:ss,SSS"],
)  # fmt: skip
@given(INSTANTS)
def test_what_is_written_is_read_back(pattern: str, millis: int) -> None:
    (text,) = written(pattern, millis)
    assert DateFormat(pattern).parse(text) == millis


@given(st.text(max_size=30))
def test_a_text_that_does_not_match_gives_no_date(text: str) -> None:
    assert DateFormat("yyyy-MM-dd HH:mm:ss").parse("x" + text) is None


def test_numbers_count_on_and_zones_shift() -> None:
    assert DateFormat("yyyy-MM-dd").parse("2024-02-30 later") == 1_709_251_200_000  # March 1
    assert DateFormat("yyyy-MM-dd'T'HH:mmXXX").parse("1970-01-01T02:00+02:00") == 0
    assert DateFormat("yyyy-MM-dd HH:mm Z").parse("1970-01-01 00:00 -0130") == 5_400_000


def test_weeks_begin_on_sunday_and_the_first_has_january_1() -> None:
    days = [19_674, 19_722, 19_723, 19_729]  # 2023-11-13, 2023-12-31, 2024-01-01, 2024-01-07
    assert written("Y w W F", *(day * 86_400_000 for day in days)) == [
        "2023 46 3 2", "2024 1 6 5", "2024 1 1 1", "2024 2 2 1",
    ]  # fmt: skip


@pytest.mark.parametrize("pattern", ["wrong", "yyyy'T", "XXXX", "yyyy-bb"])
def test_a_pattern_that_java_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"letter|quote"):
        DateFormat(pattern)
