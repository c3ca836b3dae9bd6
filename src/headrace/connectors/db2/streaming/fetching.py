"""Rows of change tables, fetched by separate threads while earlier rows are processed.

The driver waits for the server without Python's lock, so fetched rows are converted to changes in
the meantime. Each thread has its own connection and is at most one fetch of each query ahead, so
memory is bounded by the sizes of the fetches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from headrace.connectors.db2.connection import Connection, Cursor, Row

T = TypeVar("T")


class FetchThread:
    """A thread that is the only user of a connection: calls run one after the other."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="headrace-fetching", daemon=True)
        self._thread.start()

    def query(self, sql: str, parameters: Sequence[object]) -> Future[FetchedAhead]:
        """Begin to run a query; the future has its result, or DriverError."""
        return self.later(lambda: FetchedAhead(self, self._connection.cursor(sql, parameters)))

    def rollback(self) -> None:
        """End the transaction. Raises DriverError."""
        self.later(self._connection.rollback).result()

    def later(self, call: Callable[[], T]) -> Future[T]:
        """Return the future of a call, which the thread runs."""
        future: Future[T] = Future()
        self._calls.put((future, call))
        return future

    def close(self) -> None:
        """Disconnect after the call that runs; never raises."""
        self._calls.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            _call(*call)
            del call  # only the caller keeps the rows


def _call(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
        future.set_exception(error)


class FetchThreads:
    """A limited number of fetching threads; each connects when it gets its first query."""

    def __init__(self, connect: Callable[[], Connection], most: int) -> None:
        self._connect, self._most = connect, most
        self._threads: list[FetchThread] = []

    def of(self, number: int) -> FetchThread:
        """Return the thread of the query of this number, counted from 0 on: they take turns. Raises
        HeadraceError if it cannot connect."""
        place = number % self._most
        while len(self._threads) <= place:
            self._threads.append(FetchThread(self._connect()))
        return self._threads[place]

    def rollback(self) -> None:
        """End the transactions. Raises DriverError."""
        for thread in self._threads:
            thread.rollback()

    def close(self) -> None:
        """Disconnect; never raises."""
        for thread in self._threads:
            thread.close()


class FetchedAhead:
    """The rows of a query; see change_table.AheadCursor."""

    def __init__(self, thread: FetchThread, cursor: Cursor) -> None:
        self._thread, self._cursor = thread, cursor
        self._next: Future[list[Row]] | None = None

    def ahead(self, rows: int, /) -> None:
        """See AheadCursor."""
        if self._next is None:
            self._next = self._thread.later(lambda: self._cursor.fetch(rows))

    def fetch(self, rows: int, /) -> list[Row]:
        """See AheadCursor. Raises DriverError."""
        self.ahead(rows)
        assert self._next is not None
        fetched, self._next = self._next, None
        return fetched.result()

    def close(self) -> None:
        """See AheadCursor; waits for a running fetch."""
        self._thread.later(self._cursor.close).result()
