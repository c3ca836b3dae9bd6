"""Reads change tables, window by window, into segments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np

from headrace.connect.deadline import Deadline
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.rows import low_half
from headrace.connectors.db2 import sql
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import registrations
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.position import Db2Position
from headrace.connectors.db2.streaming import frames
from headrace.connectors.db2.streaming.beginnings import Beginnings
from headrace.connectors.db2.streaming.capture_watch import CaptureWatch
from headrace.connectors.db2.streaming.change_numbers import ReceivedChanges, resume
from headrace.connectors.db2.streaming.change_table import ChangeTable
from headrace.connectors.db2.streaming.commit_times import CommitTimes
from headrace.connectors.db2.streaming.fetching import FetchedAhead, FetchThread, FetchThreads
from headrace.connectors.db2.streaming.frames import index_frame
from headrace.connectors.db2.streaming.merging import Merged, merged
from headrace.connectors.db2.streaming.recorded_tables import RecordedTables
from headrace.connectors.db2.streaming.registered_tables import (
    Described,
    RegisteredTables,
    Span,
    change_path,
    has_taken_over,
    in_order,
    stops_before,
)
from headrace.connectors.db2.streaming.windows import (
    Window,
    next_window,
    spans_of,
    time_after,
)
from headrace.errors import HeadraceError
from headrace.streaming.frame_reader import FrameReader
from headrace.streaming.relations import RelationVersions

_FETCH_ROWS = 10_000
_TABLE_GONE = "db2.table_gone"
_Query = tuple[Described, Future[FetchedAhead]]


@dataclass(frozen=True)
class Db2ReaderOptions:
    """A reader's settings besides the log: the options word of `row_kernel`, and the topic of
    transactions (empty: their borders make no records)."""

    row_options: int
    border_topic: str


class ChangeTablesReader(FrameReader):
    """See headrace.streaming.log_reader.LogReader."""

    frame_kernel = staticmethod(index_frame)

    def __init__(
        self,
        config: Db2Config,
        connect: Callable[[], Connection],
        tables: RegisteredTables,
        versions: RelationVersions,
        recorded: RecordedTables,
        start: Db2Position,
        options: Db2ReaderOptions,
        beginnings: Beginnings,
        watch: CaptureWatch,
        translate: Callable[[Exception], HeadraceError | None],
    ) -> None:
        super().__init__(versions, start, frames.STATE_WORDS, options.row_options)
        self._config, self._connect, self._tables = config, connect, tables
        self._translate = translate
        if options.border_topic:
            self.has_borders(*versions.borders(options.border_topic))
        self._recorded = recorded
        self._connection: Connection | None = None
        self._fetch_rows = config.query_fetch_size or _FETCH_ROWS
        self._fetching = FetchThreads(connect, config.headrace_change_tables_connections)
        self._next, self._first_unread = start.committed, start.first_unread
        self.lsn_bytes = start.lsn_bytes
        """Bytes of the server's numbers, once any number was seen."""
        self._delivered = resume(start, self.state)
        self._frames: Generator[memoryview, None, None] | None = None
        self._bytes = memoryview(b"")
        self._transaction = np.zeros(frames.OPEN_WORDS, np.int64)
        self._pause = Deadline(0)
        self._watch = watch
        self._asked = threading.Event()
        self._beginnings = beginnings if config.headrace_change_tables_gap == "fail" else None

    # -- see LogReader --------------------------------------------------------------------------

    @property
    def received(self) -> ReceivedChanges:
        """See LogReader."""
        plain, state = super().received, self.state
        has_change = plain.transaction is not None and state[frames.HAS_CHANGE]
        change = int(state[frames.CHANGE]) if has_change else None
        return ReceivedChanges(**vars(plain), change=change)

    def open(self) -> None:
        """Connect."""
        self._connection = self._connect()

    def ask_position(self) -> None:
        """Make the next reading of the control tables skip its pause. Any thread may call it."""
        self._asked.set()

    def read_into(self, target: memoryview, seconds: float) -> int:
        """See LogReader."""
        if not self._bytes:
            self._bytes = self._more(seconds)
        size = min(len(target), len(self._bytes))
        target[:size] = self._bytes[:size]
        self._bytes = self._bytes[size:]
        return size

    def translate(self, error: Exception) -> HeadraceError | None:
        """See LogReader."""
        return self._translate(error)

    def close(self) -> None:
        """Disconnect; never raises."""
        self._recorded.close()
        if self._frames is not None:
            self._frames.close()  # its queries end before their connection does
        self._fetching.close()
        if self._connection is not None:
            self._connection.close()

    # -- windows --------------------------------------------------------------------------------

    def _more(self, seconds: float) -> memoryview:
        """Return the next frames; empty if nothing comes within so many seconds."""
        if self._frames is None:
            if not self._pause.is_over and not self._asked.is_set():
                self._asked.wait(min(seconds, self._pause.remaining()))
                return memoryview(b"")
            self._asked.clear()
            assert self._connection is not None
            window = next_window(self._connection, self._config, self._next, self.lsn_bytes)
            if window is None:
                self._watch.look(self._connection)
                self._connection.rollback()
                self._pause = Deadline(self._config.poll_interval_ms / 1000)
                return memoryview(b"")
            self.lsn_bytes = window.lsn_bytes
            self.ends_at(window.newest + 1)
            self._frames = self._read(window)
        part = next(self._frames, None)
        if part is None:
            self._frames = None
            return memoryview(b"")
        return part

    def _read(self, window: Window) -> Generator[memoryview, None, None]:
        """Yield the frames of a window. The transaction in the database ends with the window, so
        that change tables can be dropped."""
        connection, config = self._connection, self._config
        assert connection is not None
        with ExitStack() as opened:
            tables = self._tables_of(connection, window, opened)
            unread = {table.path: max(window.first, self._first_unread) for table in tables}
            cursor = connection.cursor(sql.commit_times(config), window.bounds())
            later = partial(time_after, connection, config, window)
            times = CommitTimes(cursor, self._fetch_rows, window.clock, later)
            opened.callback(times.close)
            for part in merged(tables, self._delivered):
                self._check_fetched(connection, window, tables, unread)
                yield self._written(part, times, window)
            self._check_fetched(connection, window, tables, unread)
        self._fetching.rollback()
        connection.rollback()
        self._next = window.last + 1
        yield self._synchpoint(self._next)

    def _tables_of(
        self, connection: Connection, window: Window, opened: ExitStack
    ) -> list[ChangeTable]:
        """Return the change tables of a window, whose queries run; `opened` closes them. The
        changes of a dropped change table end, unless another change table of the same table took
        over: that one has everything that is not read. Raises HeadraceError like `_registered`."""
        while True:
            registered = self._registered(connection, window)
            # All queries begin first, so that they run in parallel.
            queries = [
                self._begun(connection, self._fetching.of(number), span, window)
                for number, span in enumerate(registered)
            ]
            with ExitStack() as tried:
                tables, gone = [], []
                for span, query in zip(registered, queries, strict=True):
                    table = self._open(query, change_path(span.registration), len(registered))
                    if table is None:
                        gone.append(span)
                    else:
                        tried.callback(table.cursor.close)
                        tables.append(table)
                if not gone or not has_taken_over(gone, registrations(connection, self._config)):
                    self._tables.warn_of_vanished(gone)
                    opened.push(tried.pop_all())
                    return tables

    def _registered(self, connection: Connection, window: Window) -> list[Span]:
        """Return the spans that may have changes in a window. Raises HeadraceError if changes are
        gone."""
        config = self._config
        captured = self._tables.captured(registrations(connection, config))
        spans = spans_of(connection, config, captured, window.first)
        if self._beginnings is not None:
            first = max(window.first, self._first_unread)
            self._beginnings.check(spans, first, window.lsn_bytes, self._recorded.knows)
        return in_order(
            [
                span
                for span in spans
                if span.start <= window.last and stops_before(span, window.last) >= window.first
            ]
        )

    def _check_fetched(
        self,
        connection: Connection,
        window: Window,
        tables: Sequence[ChangeTable],
        unread: dict[tuple[str, str], int],
    ) -> None:
        """Check that no rows were pruned before they were fetched, or while they were; called after
        fetching, before the rows are delivered. `unread` has the place up to which each change
        table was read at the last check; tables that were read to their end are removed. Raises
        HeadraceError."""
        if self._beginnings is None or not unread:
            return
        first, _ = window.bounds()
        begun = registrations(connection, self._config, first)
        self._beginnings.check_fetched(begun, unread, window.lsn_bytes)
        for table in tables:
            if table.is_read:
                unread.pop(table.path, None)
            elif table.path in unread:
                unread[table.path] = max(unread[table.path], table.reached)

    def _begun(
        self, connection: Connection, fetching: FetchThread, span: Span, window: Window
    ) -> _Query | None:
        """Begin to run the query of a span, and return it; None if the change table does not
        exist."""
        described = self._tables.describe(Catalog(connection), span)
        if described is None:
            return None
        statement = sql.changes(span.registration, described.columns)
        bounds = window.bounds(stops_before(span, window.last))
        return described, fetching.query(statement, bounds)

    def _open(self, query: _Query | None, path: tuple[str, str], tables: int) -> ChangeTable | None:
        """Return a change table once its query has run; None if it is gone."""
        if query is None:
            return None
        described, opening = query
        try:
            cursor = opening.result()
        except Exception as error:
            known = self.translate(error)
            if known is None or known.code != _TABLE_GONE:
                raise
            return None
        return ChangeTable(
            cursor,
            described.images,
            described.relation,
            path,
            self._fetch_rows,
            tables,
            described.widest_row,
            partial(self._recorded.before, described.table),
        )

    # -- frames ---------------------------------------------------------------------------------

    def _written(self, part: Merged, times: CommitTimes, window: Window) -> memoryview:
        words = part.words
        words[:, frames.COMMIT_US] = times.of(part.commits)
        size = int(words[:, frames.OLD_SIZE].sum() + words[:, frames.NEW_SIZE].sum())
        out = np.empty(size + frames.FRAME_BYTES * len(words) + PADDING, np.uint8)
        end = frames.write_changes(
            address_of(words),
            len(words),
            window.lsn_bytes,
            address_of(self._transaction),
            address_of(out),
        )
        return out[: end - address_of(out)].data

    def _synchpoint(self, place: int) -> memoryview:
        out = np.empty(2 * frames.FRAME_BYTES + PADDING, np.uint8)
        end = frames.write_end(address_of(out), address_of(self._transaction))
        end = frames.write_synchpoint(end, int(low_half(place >> 64)), int(low_half(place)))
        return out[: end - address_of(out)].data
