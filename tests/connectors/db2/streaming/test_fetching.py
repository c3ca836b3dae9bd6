"""Threads that fetch rows: the order of their calls, how far they are ahead, errors, the end."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, cast

import pytest

from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.streaming.fetching import FetchThread, FetchThreads

Row = tuple[int]


class Numbers:
    """A connection whose query gives the numbers below its parameter, and fails at `broken`."""

    def __init__(self, broken: int | None = None) -> None:
        self.calls: list[str] = []
        self.threads: set[str] = set()
        self._broken = broken

    def cursor(self, _sql: str, parameters: Sequence[object] = ()) -> Numbers:
        self._called("cursor")
        self._next, self._end = 0, cast(int, parameters[0])
        return self

    def fetch(self, rows: int, /) -> list[Row]:
        self._called(f"fetch {rows}")
        first, last = self._next, min(self._next + rows, self._end)
        if self._broken is not None and first <= self._broken < last:
            raise DriverError("broken")
        self._next = last
        return [(number,) for number in range(first, last)]

    def rollback(self) -> None:
        self._called("rollback")

    def close(self) -> None:
        self.calls.append("close")

    def _called(self, name: str) -> None:
        self.calls.append(name)
        self.threads.add(threading.current_thread().name)


def thread_of(numbers: Numbers) -> FetchThread:
    return FetchThread(cast(Connection, cast(Any, numbers)))


def test_rows_that_were_fetched_ahead_come_next_and_none_twice() -> None:
    numbers = Numbers()
    thread = thread_of(numbers)
    rows = thread.query("", (7,)).result()
    rows.ahead(3)
    rows.ahead(5)
    batches = [rows.fetch(2), rows.fetch(2)]
    rows.ahead(9)
    batches += [rows.fetch(1), rows.fetch(1)]
    thread.close()
    assert batches == [[(0,), (1,), (2,)], [(3,), (4,)], [(5,), (6,)], []]
    assert numbers.calls == ["cursor", "fetch 3", "fetch 2", "fetch 9", "fetch 1", "close"]


def test_rows_are_kept_by_who_asked_for_them_alone() -> None:
    class Rows(list[Row]):
        """A list that can be referred to weakly."""

    class Lists(Numbers):
        def fetch(self, rows: int, /) -> list[Row]:
            return Rows(super().fetch(rows))

    thread = thread_of(Lists())
    query = thread.query("", (2,)).result()
    gone = threading.Event()
    weakref.finalize(query.fetch(2), gone.set)
    assert gone.wait(30)
    thread.close()


def test_one_thread_uses_a_connection() -> None:
    numbers = Numbers()
    thread = thread_of(numbers)
    rows = thread.query("", (1,)).result()
    rows.fetch(1)
    thread.rollback()
    thread.close()
    assert numbers.threads == {"headrace-fetching"}


def test_an_error_of_a_fetch_ahead_is_raised_where_its_rows_are_asked_for() -> None:
    thread = thread_of(Numbers(broken=3))
    rows = thread.query("", (9,)).result()
    rows.ahead(2)
    assert rows.fetch(2) == [(0,), (1,)]
    rows.ahead(2)
    with pytest.raises(DriverError, match="broken"):
        rows.fetch(2)
    thread.close()


def test_a_query_that_is_closed_waits_for_the_fetch_that_runs() -> None:
    numbers = Numbers()
    thread = thread_of(numbers)
    rows = thread.query("", (9,)).result()
    rows.ahead(4)
    rows.close()
    thread.close()
    assert numbers.calls == ["cursor", "fetch 4", "close", "close"]


def test_queries_take_turns_on_connections_that_are_made_when_they_are_needed() -> None:
    cursors: list[Numbers] = []

    def connect() -> Connection:
        cursors.append(Numbers())
        return cast(Connection, cast(Any, cursors[-1]))

    threads = FetchThreads(connect, 2)
    assert not cursors
    first = threads.of(0)
    assert len(cursors) == 1
    second = threads.of(1)
    assert [threads.of(number) for number in range(4)] == [first, second, first, second]
    threads.rollback()
    threads.close()
    assert [cursor.calls for cursor in cursors] == [["rollback", "close"], ["rollback", "close"]]
