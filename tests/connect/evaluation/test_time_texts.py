"""Texts of times, as matrices of characters, against plain ones."""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.evaluation.time_texts import in_iso, time_texts

moments = st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001


def fraction(moment: datetime) -> str:
    return f".{moment.microsecond:06}".rstrip("0").rstrip(".")


def head(moment: datetime, between: str) -> str:
    return moment.replace(microsecond=0).isoformat(between)


@given(st.lists(st.one_of(st.none(), moments), min_size=1))
def test_texts_of_logs_become_iso(given_moments: list[datetime | None]) -> None:
    texts = [None if m is None else f"{head(m, ' ')}{fraction(m)}+00" for m in given_moments]
    expected = [None if m is None else f"{head(m, 'T')}{fraction(m)}Z" for m in given_moments]
    iso_texts = in_iso(pa.array(texts, pa.large_string()).cast(pa.large_binary()))
    if all(m is None for m in given_moments):
        assert iso_texts is None
    else:
        assert iso_texts.to_pylist() == expected


@pytest.mark.parametrize(
    "text",
    ["", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05.Z",
     "2026-01-02T03:04:05.120Z", "2026-01-02T03:04:05.1234567890Z", "+12026-01-02T03:04:05Z",
     "2026-01-02T03:04:05+02:00", "2026-01-0xT03:04:05Z", "2026-01-02T03:04:05.1x3Z",
     "2026-01-02T03:04:05x1Z", "infinity"],
)  # fmt: skip
def test_other_texts_are_left_to_slower_ways(text: str) -> None:
    sound = "2026-01-02T03:04:05.123Z"
    assert time_texts(pa.array([sound, text], pa.large_string()), "T", "Z") is None
