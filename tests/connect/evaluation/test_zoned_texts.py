"""Texts of times with an offset, read and written by columns, against Python's datetime."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.evaluation.zoned_texts import ZonedTexts

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECONDS = st.integers(-18 * 3600, 18 * 3600)
offsets = st.one_of(st.just(0), SECONDS.map(lambda seconds: seconds // 60 * 60), SECONDS)
moments = st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))  # noqa: DTZ001
fractions = st.from_regex(r"(\.[0-9]{1,9})?", fullmatch=True)


def offset_text(seconds: int) -> str:
    if seconds == 0:
        return "Z"
    iso_text = datetime(2000, 1, 1, tzinfo=timezone(timedelta(seconds=seconds))).isoformat()
    return iso_text[19:]


def read(texts: list[str], *, has_date: bool) -> ZonedTexts | None:
    # One more text before them: columns may begin within their memory.
    array = pa.array(["before", *texts], pa.large_string())[1:]
    return ZonedTexts.read(array, has_date=has_date)


def trimmed(fraction: str) -> str:
    return fraction.rstrip("0").rstrip(".")


@given(st.lists(st.tuples(moments, fractions, offsets, offsets), min_size=1, max_size=20))
def test_instants_are_read_and_written_with_another_offset(
    given_times: list[tuple[datetime, str, int, int]],
) -> None:
    written_texts = [
        f"{moment.replace(microsecond=0).isoformat()}{fraction}{offset_text(offset)}"
        for moment, fraction, offset, _ in given_times
    ]
    texts = read(written_texts, has_date=True)
    assert texts is not None
    begins = [each.replace(microsecond=0, tzinfo=UTC) for each, *_ in given_times]
    assert texts.seconds.tolist() == [(each - EPOCH).total_seconds() for each in begins]
    assert texts.offsets.tolist() == [offset for _, _, offset, _ in given_times]
    others = np.array([other for *_, other in given_times])
    written = texts.written(texts.seconds - texts.offsets + others, others)
    assert written is not None
    assert written.to_pylist() == [
        (begin + timedelta(seconds=other - offset)).isoformat()[:19]
        + trimmed(fraction)
        + offset_text(other)
        for begin, (_, fraction, offset, other) in zip(begins, given_times, strict=True)
    ]


@given(st.lists(st.tuples(st.times(), fractions, offsets), min_size=1, max_size=20))
def test_times_of_day_are_read_and_written(given_times: list[tuple[time, str, int]]) -> None:
    written_texts = [
        f"{each.replace(microsecond=0).isoformat()}{fraction}{offset_text(offset)}"
        for each, fraction, offset in given_times
    ]
    texts = read(written_texts, has_date=False)
    assert texts is not None
    assert texts.seconds.tolist() == [
        3600 * each.hour + 60 * each.minute + each.second for each, *_ in given_times
    ]
    assert texts.offsets.tolist() == [offset for *_, offset in given_times]
    written = texts.written(texts.seconds, texts.offsets)
    assert written is not None
    assert written.to_pylist() == [
        f"{each.replace(microsecond=0).isoformat()}{trimmed(fraction)}{offset_text(offset)}"
        for each, fraction, offset in given_times
    ]


def test_seconds_may_be_left_out() -> None:
    texts = read(["2026-01-02T03:04+05:30"], has_date=True)
    assert texts is not None
    written = texts.written(texts.seconds, texts.offsets)
    assert written is not None
    assert written.to_pylist() == ["2026-01-02T03:04:00+05:30"]


@pytest.mark.parametrize(
    "text",
    ["", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05.Z",
     "2026-01-02T03:04:05.1234567890Z", "+12026-01-02T03:04:05Z", "2026-01-02T03:04:05+2:00",
     "2026-01-0xT03:04:05Z", "2026-01-02T03:04:05.1x3Z", "2026-01-02T03:04:05x1Z", "infinity",
     "2026-02-29T03:04:05Z", "1900-02-29T03:04:05Z", "2026-13-01T03:04:05Z", "2026-00-01T03:04:05Z",
     "2026-04-31T03:04:05Z", "2026-01-02T24:00:00Z", "2026-01-02T03:60:00Z", "2026-01-02T03:04:60Z",
     "2026-01-02T03:04:05+19:00", "2026-01-02T03:04:05+01:60", "2026-01-02T", "2026-01-02T03:04:",
     "2026-01-02T03:04:05.", "2026-01-02T03:04:05.123", "2026-01-02T03:04:05é"],
)  # fmt: skip
def test_other_texts_and_times_that_there_are_not_are_left_to_slower_ways(text: str) -> None:
    assert read(["2026-01-02T03:04:05.123Z", text], has_date=True) is None


@pytest.mark.parametrize("seconds", [-62_135_596_801, 253_402_300_800])
def test_years_that_have_not_four_digits_are_not_written(seconds: int) -> None:
    texts = read(["2026-01-02T03:04:05Z"], has_date=True)
    assert texts is not None
    assert texts.written(np.array([seconds]), np.array([0])) is None
