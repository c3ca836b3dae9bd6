"""Times of transactions' commits, as far as IBMSNAP_UOW has them."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.db2.clock import distant
from headrace.connectors.db2.lsn import lsn_of
from headrace.connectors.db2.streaming.commit_times import CommitTimes
from headrace.connectors.db2.streaming.lsn_columns import LsnColumn

UTC = distant(0)
EPOCH = dt.datetime.fromisoformat("1970-01-01")


class Units:
    """A cursor over rows of IBMSNAP_UOW, each with its own number as the second it was made in."""

    def __init__(self, commits: Sequence[int]) -> None:
        self._rows = [(lsn_of(commit), at(commit)) for commit in commits]

    def fetch(self, rows: int) -> list[tuple[object, ...]]:
        part, self._rows = self._rows[:rows], self._rows[rows:]
        return list(part)

    def close(self) -> None:
        pass


def at(commit: int) -> dt.datetime:
    return EPOCH + dt.timedelta(seconds=commit % 10_000)


def commits(numbers: Sequence[int]) -> LsnColumn:
    return LsnColumn.of([lsn_of(number) for number in numbers])


numbers = st.one_of(st.integers(1, 60), st.integers(1 << 64, (1 << 64) + 60))


@given(st.sets(numbers), st.lists(numbers), st.lists(st.integers(0, 80)), st.integers(1, 7))
def test_each_commit_has_its_own_time_or_that_of_the_next_one(
    units: set[int], asked_commits: list[int], cuts: list[int], fetched: int
) -> None:
    commit_places, asked_commits = sorted(units), sorted(asked_commits)
    times = CommitTimes(Units(commit_places), fetched, UTC, lambda: 99_000_000)
    borders = sorted({0, len(asked_commits), *(min(cut, len(asked_commits)) for cut in cuts)})
    seconds = [
        int(time) // 1_000_000
        for first, last in pairwise(borders)
        for time in times.of(commits(asked_commits[first:last]))
    ]
    expected = []
    for commit in asked_commits:
        place = bisect_left(commit_places, commit)
        expected.append(commit_places[place] % 10_000 if place < len(commit_places) else 99)
    assert seconds == expected


def test_without_any_row_it_is_the_time_of_reading_which_is_asked_for_once() -> None:
    calls: list[None] = []

    def server_time() -> int:
        calls.append(None)
        return 99_000_000

    times = CommitTimes(Units([]), 10, UTC, server_time)
    assert [times.of(commits([1, 2])).tolist(), times.of(commits([3])).tolist()] == [
        [99_000_000, 99_000_000],
        [99_000_000],
    ]
    assert len(calls) == 1


def test_no_more_rows_are_kept_than_are_fetched_at_once() -> None:
    times = CommitTimes(Units(range(1, 10_001)), 100, UTC, lambda: 99_000_000)
    assert times.of(commits([9_950])).tolist() == [9_950 * 1_000_000]
    assert len(times._times) <= 100
