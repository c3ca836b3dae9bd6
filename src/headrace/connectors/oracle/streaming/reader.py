"""Reads the redo, window by window, into segments."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headrace.connect.deadline import Deadline
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.catalog.object_names import ObjectNames
from headrace.connectors.oracle.clock import offset_us
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.position import OraclePosition
from headrace.connectors.oracle.properties.modes import MiningStrategy
from headrace.connectors.oracle.scn import after_scn, format_xid, parse_xid, scn_of, xid_of
from headrace.connectors.oracle.streaming import frames, redo_rows
from headrace.connectors.oracle.streaming.frames import index_frame
from headrace.connectors.oracle.streaming.lobs.reselection import LobReselection
from headrace.connectors.oracle.streaming.progress import MinedPlaces, MiningProgress
from headrace.connectors.oracle.streaming.rare_frames import (
    add_rare,
    reached_frame,
    schema_change_frame,
)
from headrace.connectors.oracle.streaming.redo_holder import RedoHolder
from headrace.connectors.oracle.streaming.redo_rows import StatementParts
from headrace.connectors.oracle.streaming.remining import GivenUp, Remined
from headrace.connectors.oracle.streaming.tables import Describe, StreamTables, TextOptions
from headrace.connectors.oracle.streaming.windows.flushing import LogFlush
from headrace.connectors.oracle.streaming.windows.ordering import (
    LastFetch,
    LateCommit,
    RowOrder,
    commit_order,
)
from headrace.connectors.oracle.streaming.windows.pacing import SWITCHED, Pacing
from headrace.connectors.oracle.streaming.windows.redo import (
    InconsistentLogsError,
    Look,
    OpenTransactions,
    Redo,
    Window,
)
from headrace.connectors.oracle.streaming.windows.session import MiningSession, RowLimit
from headrace.errors import HeadraceError
from headrace.spool.spool import Piece
from headrace.streaming.frame_reader import FrameReader
from headrace.streaming.relations import RelationVersions

log = logging.getLogger(__name__)

_MISSING = "oracle.missing_log"
_MEASURED, _MEMORY_ASKED = 1.0, 10.0
"""Seconds between two measurements of the buffer in a window, and of the server's memory."""


@dataclass(frozen=True)
class OracleReaderOptions:
    """A reader's settings besides the redo: the options word of `row_kernel`, the topic of
    transactions (empty: their borders make no records), the pluggable database (None without one),
    whether to do as Debezium 3.6 does if the two differ (see RedoHolder), whether the data
    dictionary's comments are read, the files of logs that were removed, and the time limit of rows
    (None: as configured)."""

    row_options: int
    border_topic: str
    container: str | None
    is_debezium_compatible: bool = False
    reads_comments: bool = True
    removed_logs: set[str] = field(default_factory=set)
    row_limit: RowLimit | None = None


OpenTables = Callable[[Describe, TextOptions], StreamTables]


class RedoReader(FrameReader):
    """See headrace.streaming.log_reader.LogReader."""

    frame_kernel = staticmethod(index_frame)

    def __init__(
        self,
        config: OracleConfig,
        connect: Callable[[], Connection],
        open_tables: OpenTables,
        versions: RelationVersions,
        start: OraclePosition,
        options: OracleReaderOptions,
        translate: Callable[[Exception], HeadraceError | None],
    ) -> None:
        super().__init__(versions, start, frames.STATE_WORDS, options.row_options)
        self._config, self._connect, self._open_tables = config, connect, open_tables
        self._start, self._options, self._translate = start, options, translate
        if options.border_topic:
            self.has_borders(*versions.borders(options.border_topic))
        self._given_up, self._abandoned = GivenUp(start.given_up), 0
        self._remined: Remined | None = None
        self.places = MinedPlaces(start, self._given_up)
        self.progress = MiningProgress(offset_scn=start.mined_from)
        is_compatible = options.is_debezium_compatible
        self._holder = RedoHolder(config, start, is_debezium_compatible=is_compatible)
        self._buffer = self._holder.buffer
        self._redo, self._flush = Redo(config, options.removed_logs), LogFlush(config)
        self._parts, self._order = StatementParts(), RowOrder()
        self._root: Connection | None = None
        self._database: Connection | None = None
        self._limit = options.row_limit or RowLimit(config)
        self._session: MiningSession | None = None
        self._window: Window | None = None
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._last_fetch = LastFetch()
        self._next = self._held = self._mined = start.mined_from
        if config.is_unbuffered:
            # Rows are in the order of the SCNs of their commits.
            self._next = max(scn_of(start.committed) - 1, 0)
        self._open: deque[OpenTransactions] = deque()
        """The transactions that were open at SCNs that are not read yet, for
        LogMiner_Unbuffered."""
        self._reached = scn_of(start.committed)
        self._late: LateCommit | None = None
        self._outgoing: deque[np.ndarray | bytes | int] = deque()
        self._written_apart: Iterator[bytes] | None = None
        self._bytes, self._pacing, self._began = b"", Pacing(config), 0.0
        self._look: Look | None = None
        self._newest = self._committed = 0
        """The newest redo, and the number of released transactions, when the window began."""
        self._measured, self._asked_memory = Deadline(_MEASURED), Deadline(0)
        self._asked, self._dropped = threading.Event(), deque[int]()

    # -- see LogReader --------------------------------------------------------------------------

    def open(self) -> None:
        """Connect to the root, where the redo is mined, and to the database."""
        config, container = self._config, self._options.container
        self._open_root()
        self._database = self._connect()
        if container is not None:
            self._database.switch_to(container)
        self._flush.prepare(self._database)
        sets: dict[str, str] = dict(self._database.rows(sql.CHARACTER_SETS()))
        names = sets["NLS_CHARACTERSET"], sets["NLS_NCHAR_CHARACTERSET"]
        texts = TextOptions.of(config, *names)
        catalog = Catalog(self._database, comments=self._options.reads_comments)
        tables = self._open_tables(catalog.table, texts)
        tables.list_tables = catalog.tables
        if config.log_mining_strategy == MiningStrategy.HYBRID:
            tables.real_name = ObjectNames(self._database).find
        self._holder.open(tables, LobReselection(self._database))

    def _open_root(self) -> MiningSession:
        if self._root is not None:
            self._root.close()
        self._root = self._connect()
        if self._options.container is not None:
            self._root.switch_to(sql.ROOT)
        self._session = MiningSession(
            self._root, self._config, self._options.container, self.progress, self._limit
        )
        return self._session

    def ask_position(self) -> None:
        """Make the next reading of the views skip its pause. Any thread may call it."""
        self._asked.set()

    def drop_transaction(self, transaction: str) -> None:
        """Drop an open transaction by the id that events show (drop-transaction). Any thread may
        call it. Raises ValueError for an id that is not valid."""
        self._dropped.append(parse_xid(transaction.strip().lower()))

    def read_into(self, target: memoryview, seconds: float) -> int:
        """See LogReader."""
        out = np.frombuffer(target, np.uint8)
        deadline = Deadline(seconds)
        while True:
            size = self._written(out)
            if size or not self._read_on(deadline.remaining()) or deadline.is_over:
                return size

    def stopped(self, status: int, piece: Piece, seconds: float) -> bool:
        """See SegmentReader."""
        if status != frames.RARE:
            return super().stopped(status, piece, seconds)
        add_rare(piece, self.state, self.indexed, self.versions)
        return True

    def judged(self, error: HeadraceError, place: int) -> HeadraceError:
        """See LogReader."""
        return error if self._late is None else self._late.judged(error, place)

    def translate(self, error: Exception) -> HeadraceError | None:
        """See LogReader."""
        return self._translate(error)

    def close(self) -> None:
        """Disconnect; never raises."""
        for connection in (self._root, self._database):
            if connection is not None:
                connection.close()
        self._flush.close()
        self._holder.close()

    # -- output ---------------------------------------------------------------------------------

    def _written(self, out: np.ndarray) -> int:
        """Put frames into `out`; returns the number of bytes, 0: none is ready."""
        while True:
            if self._bytes:
                size = min(len(out), len(self._bytes))
                out[:size] = np.frombuffer(self._bytes, np.uint8, size)
                self._bytes = self._bytes[size:]
                return size
            if self._written_apart is not None:
                self._bytes = next(self._written_apart, b"")
                if not self._bytes:
                    self._written_apart = None
                continue
            if self._buffer.has_ready:
                return self._buffer.write(out)
            if not self._outgoing:
                return 0
            item = self._outgoing.popleft()
            if isinstance(item, bytes):
                self._bytes = item
            elif isinstance(item, int):
                self._written_apart = self._holder.written(item)
            else:
                self._buffer.release(item)

    def _give_out(self, numbers: np.ndarray) -> None:
        """Queue committed transactions for writing; those with large values one by one."""
        marked = np.flatnonzero(self._buffer.is_marked(numbers))
        for number, (first, last) in enumerate(redo_rows.runs(marked, len(numbers))):
            if last > first:
                self._outgoing.append(numbers[first:last])
            if number < len(marked):
                self._outgoing.append(int(numbers[last]))

    def _release(self, scn: int) -> None:
        """Release the transactions that were committed below an SCN: all redo below it was read."""
        tables = self._holder.tables
        assert tables is not None
        if scn <= self._reached:
            return
        changes = [change for change in tables.changes if scn_of(change[0].place) < scn]
        tables.changes = [change for change in tables.changes if scn_of(change[0].place) >= scn]
        mined = self._mined
        if not self._config.is_unbuffered:
            mined = self._oldest_mined(min([scn, *(scn_of(change.place) for change, _ in changes)]))
        commits = self._buffer.commits()
        if len(commits) and int(commits.scns[0]) < self._reached:
            self._late = LateCommit(int(commits.xids[0]), int(commits.scns[0]))
            raise self._late.error(self._reached)
        count = int(np.searchsorted(commits.scns, scn))
        released = self._buffer.take(commits, count)
        if count:
            self._holder.taken(int(released.numbers[-1]))
        first = 0
        for change, us in changes:
            at, xid = scn_of(change.place), np.uint64(xid_of(change.place))
            before = (released.scns < at) | ((released.scns == at) & (released.xids < xid))
            up_to = int(np.count_nonzero(before))
            self._give_out(released.numbers[first:up_to])
            self._outgoing.append(schema_change_frame(change, us))
            first = up_to
        self._give_out(released.numbers[first:])
        self._outgoing.append(reached_frame(scn << 64))
        self._mined = self._oldest_mined(scn)
        self._reached = scn
        self.places.released(scn << 64, mined, released, self._mined)
        self.progress.committed += count
        if count:
            self.progress.committed_scn = int(commits.scns[count - 1])

    def _oldest_mined(self, scn: int) -> int:
        """Return an SCN: redo of a larger one has all that is held, and all that is at `scn` or
        after it."""
        if self._config.is_unbuffered:
            mined = self._mined
            while self._open and self._open[0].scn < scn:
                mined = self._open.popleft().first - 1
            return min(mined, scn - 1)
        deferred = self._config.defers_starts
        oldest = self._buffer.oldest(with_empty=not deferred)
        return (scn if oldest is None else min(oldest, scn)) - 1

    # -- windows --------------------------------------------------------------------------------

    def _read_on(self, seconds: float) -> bool:
        """Read the next rows; False if none came within so many seconds."""
        if self._batches is not None:
            self._read_batch()
            return True
        pacing = self._pacing
        if not pacing.is_over and not (self._asked.is_set() and pacing.may_end_early):
            self._asked.wait(min(seconds, pacing.remaining()))
            return False
        self._asked.clear()
        assert self._root is not None
        look = self._look_around()
        newest = self._newest = self._redo.newest(self._root, look)
        self.progress.current_scn = newest
        self.ends_at(after_scn(newest))
        try:
            window = self._next_window(look, newest)
        except InconsistentLogsError as error:
            self.progress.begin_wait()
            pacing.wait_for_logs(error, self._mined)
            return False
        self.progress.end_wait()
        self.progress.log_switches = self._redo.switches
        if window is None:
            pacing.nothing_new()
            return False
        self._begin(window)
        return True

    def _next_window(self, look: Look, newest: int) -> Window | None:
        assert self._root is not None
        config, first, start = self._config, self._next, self._mined
        if config.log_mining_window_max_ms:
            since = time.time_ns() // 1000 - config.log_mining_window_max_ms * 1000
            oldest = self._buffer.oldest(since_us=since)
            start = first if oldest is None else min(oldest - 1, first)
        start = min(start, first)
        if newest > first and self._remined is None and not config.is_unbuffered:
            self._remined = self._holder.begin_again(first)
        if self._remined is not None:
            first = self._remined.start
            start = min(start, first)
        return self._redo.window(self._root, look, (start, first, self._next), newest)

    def _begin(self, window: Window) -> None:
        """Start mining a window; if a log was switched meanwhile, try again later."""
        session = self._session
        assert session is not None
        try:
            if session.needs_new(window) and self._config.log_mining_restart_connection:
                session = self._open_root()
            session.begin(window)
            if self._asked_memory.is_over:
                self.progress.memory = session.memory()
                self._asked_memory.restart(_MEMORY_ASKED)
        except DriverError as error:
            self._switched(error)
            return
        self._window, self._began = window, time.monotonic()
        self._committed = self.progress.committed
        self._batches = session.rows(window)
        self._order.begin()

    def _read_batch(self) -> None:
        assert self._batches is not None
        assert self._window is not None
        try:
            batch = next(self._batches, None)
        except DriverError as error:
            self._switched(error)
            return
        if batch is not None:
            self.progress.rows += len(batch)
            self._take(self._parts.whole(batch))
            if self._measured.is_over:
                self._measure()
            return
        window, self._batches = self._window, None
        rest = self._parts.rest()
        if rest is not None:
            self._take(rest)
        for rows in self._last_fetch.rest():
            self._hold(rows)
        self._next, self._remined = window.last, None
        self._release(window.last + 1)
        self._pacing.read(
            newest=window.last >= self._newest,
            changes=self.progress.committed > self._committed,
        )
        self.progress.processing.add(time.monotonic() - self._began)
        self._measure()

    def _measure(self) -> None:
        self.progress.measure(self._buffer, self._mined)
        self._measured.restart()

    def _take(self, batch: pa.RecordBatch) -> None:
        """Hold the rows of the previous fetch, except those of its last SCN if this fetch has more
        of them, and release the commits before."""
        if len(batch) == 0:
            return
        if self._config.is_unbuffered:
            self._hold(batch)
            self._held = int(commit_order(batch)[-1]) - 1
            self._release(self._held + 1)
            return
        complete, self._held = self._last_fetch.exchange(batch, self._held)
        for rows in complete:
            self._hold(rows)
        self._release(self._order.add(redo_rows.numbers(batch, redo_rows.SCN)))
        self.progress.backward_steps = self._order.steps

    def _hold(self, batch: pa.RecordBatch) -> None:
        """Hold rows, except those that are already held, or whose transactions are given up."""
        rest = batch if self._remined is None else self._remined.rest(batch)
        self._holder.hold(self._given_up.rest(rest))
        self._know_given_up()

    def _know_given_up(self) -> None:
        if self._buffer.abandoned != self._abandoned:
            self._abandoned = self._buffer.abandoned
            self._given_up.add(self._buffer.given_up())

    def _switched(self, error: DriverError) -> None:
        """Prepare to mine again after what is held, if a log switch caused the error; raises other
        errors, and an error that persists."""
        known = self.translate(error)
        if known is not None and known.code == "oracle.query_timeout":
            self._limit.passed()
        if known is None or known.code not in SWITCHED or self._order.steps:
            raise error  # held rows need not be complete up to an SCN
        if self._held > self._next:
            self._pacing.read_in_part()
        if not self._pacing.switched():
            refused = None if self._session is None else self._session.refused
            if refused is not None and refused.is_archived and known.code == _MISSING:
                raise self._redo.leave_out(refused) from None
            raise error
        log.info("%s; headrace tries again", known.message)
        self._redo.forget_logs()
        self._batches, self._last_fetch, self._parts = None, LastFetch(), StatementParts()
        self._next = max(self._next, self._held)
        if self._remined is not None and self._next <= self._remined.up_to:
            self._buffer.drop_these(self._remined.xids)
        else:
            self._remined = None
        if self._config.is_unbuffered:
            self._buffer.drop_open()
            self._buffer.drop_committed()
        self.progress.begin_wait()
        if self._session is not None:
            self._session.end()

    def _look_around(self) -> Look:
        """Flush the redo, and return the state of the database. What changed while reading went on
        is handled, too: the database's clock, and transactions that are too old."""
        assert self._root is not None
        assert self._database is not None
        self._flush.flush(self._database, self._next)
        if self._config.is_unbuffered:
            # The bound of a transaction that is committed after the SCN of the second look.
            first = self._redo.first_changes(self._root, self._look or self._redo.look(self._root))
        look = self._look = self._redo.look(self._root)
        if self._config.is_unbuffered:
            self._open.append(OpenTransactions(look.scn, first))
        self._holder.clock_is_ahead(offset_us(look.clock))
        self._give_up()
        return look

    def _give_up(self) -> None:
        """Give up transactions that drop-transaction names, and those that are too old."""
        given_up_before = self._buffer.abandoned
        while self._dropped:
            xid = self._dropped.popleft()
            was_open = self._buffer.give_up(xid)
            if self._remined is not None and xid in self._remined:
                was_open = True
                self._given_up.add([xid])
            outcome = "is left out" if was_open else "is not open: nothing is left out"
            log.warning("drop-transaction: the transaction %s %s", format_xid(xid), outcome)
        retention = self._config.log_mining_transaction_retention_ms
        if retention:
            keep = self._start.transaction
            before = time.time_ns() // 1000 - retention * 1000
            given_up = self._buffer.abandon_before(before, None if keep is None else xid_of(keep))
            for xid in given_up:
                log.warning(
                    "Transaction %s is open for longer than log.mining.transaction.retention.ms "
                    "allows and is given up: its changes are lost",
                    format_xid(xid),
                )
        self._know_given_up()
        self.progress.abandoned += self._buffer.abandoned - given_up_before
        self._measure()
