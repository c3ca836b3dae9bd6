"""Existing redo logs, whether they fit together, and how far they reach."""

from __future__ import annotations

import pytest

from headrace.connectors.oracle.scn import LARGEST_SCN
from headrace.connectors.oracle.streaming.windows.logs import (
    RedoLog,
    RedoThread,
    archived_until,
    first_logs,
    inconsistency,
    of_threads,
    oldest_scn,
    oldest_scns,
    one_of_each,
    selection,
    selection_beyond,
)

ONE, TWO = RedoThread(1, is_open=True), RedoThread(2, is_open=True, enabled_at=150)
CLOSED = RedoThread(2, is_open=False, checkpoint=300)


def log(thread: int, sequence: int, first: int, following: int | None = None) -> RedoLog:
    """An archived log; without `following` the one that is written."""
    is_current = following is None
    end = LARGEST_SCN if following is None else following
    name = f"{thread}_{sequence}"
    return RedoLog(name, first, end, thread, sequence, not is_current, is_current, size=10)


def test_an_archived_log_is_taken_rather_than_the_online_log_that_it_is_of() -> None:
    online = RedoLog("redo", 100, 200, 1, 1, is_archived=False, is_current=False)
    assert one_of_each([online, log(1, 1, 100, 200)]) == [log(1, 1, 100, 200)]


def test_logs_of_private_threads_are_left_out() -> None:
    private = RedoThread(2, is_open=True, is_private=True)
    assert of_threads([log(1, 1, 100), log(2, 1, 100)], [ONE, private]) == [log(1, 1, 100)]


@pytest.mark.parametrize(
    ("ends", "threads", "end"),
    [
        ({1: 200}, [ONE], 200),
        ({1: 400, 2: 250}, [ONE, TWO], 250),
        ({1: 400}, [ONE, TWO], 150),
        ({1: 400, 2: 300}, [ONE, CLOSED], 400),
        ({1: 400, 2: 250}, [ONE, CLOSED], 250),
        ({1: 400, 2: 250}, [ONE, RedoThread(2, is_open=True, is_private=True)], 400),
        ({}, [ONE], 0),
    ],
)
def test_archived_redo_reaches_as_far_as_that_of_each_thread(
    ends: dict[int, int], threads: list[RedoThread], end: int
) -> None:
    assert archived_until(ends, threads) == end


def test_logs_without_gaps_fit_together() -> None:
    logs = [log(1, 1, 100, 200), log(1, 2, 200), log(2, 1, 150)]
    assert inconsistency(logs, [ONE, TWO], 120) is None


@pytest.mark.parametrize(
    ("logs", "threads", "why"),
    [
        ([log(1, 2, 200)], [ONE], "no log has SCN 120"),
        ([log(1, 1, 100, 200), log(1, 3, 300)], [ONE], "between the sequences 1 and 3"),
        ([log(1, 1, 100, 200)], [ONE], "the current log after sequence 1"),
        ([log(1, 1, 100), log(2, 1, 100, 250)], [ONE, CLOSED], "its checkpoint 300"),
        ([log(1, 1, 100)], [ONE, TWO], "redo thread 2: no log has SCN 150"),
    ],
)
def test_what_is_missing_is_reported(
    logs: list[RedoLog], threads: list[RedoThread], why: str
) -> None:
    problem = inconsistency(logs, threads, 120)
    assert problem is not None
    assert why in str(problem)


def test_a_thread_that_was_closed_and_opened_again_has_no_redo_between_its_logs() -> None:
    """The last log of a thread ends where it was closed, the next one begins where it was opened:
    the SCNs of V$LOG of an instance that was down from 1000 to 1500."""
    logs = [log(1, 7, 900), log(2, 4, 1500)]
    threads = [ONE, RedoThread(2, is_open=True, enabled_at=1)]
    assert inconsistency(logs, threads, 1200) is not None
    assert inconsistency(logs, threads, 1200, ends_before={2: 1000}) is None
    missing = inconsistency(logs, threads, 1200, ends_before={2: 1300})
    assert str(missing) == "redo thread 2: there is no log before the sequence 4"
    assert first_logs(logs, 1200) == [log(2, 4, 1500)]


def test_logs_of_a_new_thread_that_were_removed_are_missing() -> None:
    logs = [log(1, 1, 100), log(2, 3, 400)]
    assert inconsistency(logs, [ONE, TWO], 120) is None
    missing = inconsistency(logs, [ONE, TWO], 120, ends_before={2: 400})
    assert str(missing) == "redo thread 2: there is no log before the sequence 3"


def test_redo_is_there_from_where_it_is_of_every_thread() -> None:
    logs = [log(1, 3, 300, 400), log(1, 4, 400), log(2, 7, 350)]
    enabled_before = RedoThread(2, is_open=True, enabled_at=150)
    enabled_since = RedoThread(2, is_open=True, enabled_at=350)
    closed = RedoThread(2, is_open=False)
    for second, oldest in ((enabled_before, 350), (enabled_since, 300), (closed, 300)):
        assert oldest_scn(logs, [ONE, second]) == oldest
    assert oldest_scns(logs) == {1: 300, 2: 350}
    assert oldest_scn([], [ONE]) is None


def test_a_session_has_as_many_logs_as_have_the_bytes_and_ends_where_they_do() -> None:
    logs = [log(1, 1, 100, 200), log(1, 2, 200, 300), log(1, 3, 300), log(2, 1, 100)]
    chosen = selection(logs, 10, 2)
    assert (chosen.names, chosen.last) == ({"1_1", "1_2", "2_1"}, 299)
    assert selection(logs, 10, 0).last is None


@pytest.mark.parametrize(("beyond", "count", "last"), [(100, 2, 299), (299, 3, 399), (500, 5, 599)])
def test_a_session_has_as_many_logs_as_it_needs_to_continue(
    beyond: int, count: int, last: int
) -> None:
    logs = [log(1, number, 100 * number, 100 * number + 100) for number in range(1, 6)]
    logs.append(log(1, 6, 600))
    chosen = selection_beyond(logs, 10, 2, beyond)
    assert (len(chosen.logs), chosen.last) == (count, last)
    assert selection_beyond(logs, 10, 2, 600).last is None
