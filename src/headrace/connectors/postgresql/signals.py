"""Heeds signals where they stand in the log, and reads incremental snapshots chunk by chunk.

One thread calls it, the one that polls. What it decides is in the end offset of the range before
anybody plans it (Invariant 2c); see docs/decisions/0009.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import psycopg

from headrace.connect.images import cells
from headrace.connect.rows import NULL
from headrace.connectors.postgresql.chunk_sizes import ChunkSizes
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.incremental_metrics import IncrementalMetrics
from headrace.connectors.postgresql.inserts import (
    Block,
    ChunkRows,
    chunk_block,
    insert_blocks,
    notification_block,
)
from headrace.connectors.postgresql.places import Place
from headrace.connectors.postgresql.position import PostgresOffset, format_lsn
from headrace.connectors.postgresql.reading.chunk_reader import ChunkReader
from headrace.connectors.postgresql.reading.delivered import Delivered
from headrace.connectors.postgresql.reading.key_ranges import Skipped
from headrace.connectors.postgresql.watermarks import Watermarks
from headrace.connectors.postgresql.window import Chunk, Wave
from headrace.errors import HeadraceError
from headrace.offsets.ordinals import INSERT_PARTS, ordinals_used
from headrace.signals.channels import Channels
from headrace.signals.notifications import INCREMENTAL, INITIAL, Notifier
from headrace.signals.progress import Insert, SignalProgress
from headrace.signals.selection import tables_to_read, tables_to_stop
from headrace.signals.signal import (
    Action,
    ExecuteSnapshot,
    LogMessage,
    PauseSnapshot,
    ResumeSnapshot,
    Signal,
    StopSnapshot,
    WindowMark,
    parse_action,
    unread_members,
)
from headrace.spool.segment import Segment
from headrace.streaming.passage import Passage
from headrace.streaming.range_rows import RangeRows

log = logging.getLogger(__name__)
signal_log = logging.getLogger("headrace.signals")

_BEFORE_TRANSACTION = 1 << 44  # ordinal of what stands before a transaction's first message
_MOST_REPEATS = 5  # of one chunk


class Signals:
    """The signals of one stream, from the offset on that `begin` is given first. `skips`: no
    initial snapshot came before it, which is told."""

    def __init__(
        self,
        config: PostgresConfig,
        reader: ChunkReader,
        signal_table: str | None,
        metrics: IncrementalMetrics,
        *,
        skips: bool,
    ) -> None:
        self.progress = SignalProgress()
        self._greets = skips
        self._metrics = metrics
        metrics.estimates = reader.estimates
        self._sizes = ChunkSizes.of(config)
        self.signal_table = signal_table
        self._config = config
        self._reader = reader
        self._marks = None
        if signal_table is not None and not config.read_only:
            self._marks = Watermarks(config, signal_table)
        self._channels = Channels(config)
        self._notifier = Notifier(config)
        self._topic = self._notifier.topic
        self._last: PostgresOffset | None = None
        self._wave: Wave | None = None
        self._repeated = 0
        self._delivered = Delivered(reader)
        self._inserts: list[Insert] = []
        self._blocks: dict[tuple[int, int, int, int], Block] = {}
        self._before: Place | None = None
        self.truncates: list[tuple[int, int, int]] = []
        """Those of the receiver."""

    # -- ranges ---------------------------------------------------------------------------------

    @property
    def awaits(self) -> bool:
        """Whether a window waits to be closed by the log."""
        return self._wave is not None

    @property
    def inserted(self) -> bool:
        """Whether something was inserted since `begin`."""
        return bool(self._inserts)

    @property
    def size(self) -> int:
        """Bytes that were inserted since `begin`."""
        return sum(len(block.images) for block in self._blocks.values())

    def begin(self, after: PostgresOffset) -> None:
        """The range that follows `after` begins. Goes on with a snapshot that was running."""
        if not self._goes_on(after):
            # Another process came as far as this; its window is nobody's.
            self.progress = replace(after.signals or SignalProgress(), inserts=())
            self._wave = None
            self._delivered.forget()
        self._inserts.clear()
        self._blocks.clear()
        self._before = None
        self._last = after
        if self.signal_table or self._channels:
            self._delivered.begin()
        position = after.position
        while self._wave is None and self.truncates and self.truncates[0][0] < position.committed:
            del self.truncates[0]
        if position.transaction is not None:
            return
        place = self._between(after)
        if self._greets:
            self._greets = False
            self._notify(str(uuid.uuid4()), "SKIPPED", INITIAL, place, {})
        if self._channels:
            self._heed_channels(after, place)
        if self.progress.running and self._wave is None:
            self._stop(place)
            self._read(place)
        self._took(place)

    def _goes_on(self, after: PostgresOffset) -> bool:
        """Whether `after` is where the last range ended; it may have got a heartbeat."""
        last = self._last
        return last is not None and after.same_position(last)

    def _heed_channels(self, after: PostgresOffset, place: Place) -> None:
        # Spark asks for what follows `after` when its checkpoint holds it.
        self._channels.forget(after.signals or SignalProgress())
        found, self.progress = self._channels.take(self.progress)
        for signal in found:
            self.heed(signal, place)

    @property
    def towards(self) -> int | None:
        """The position at which a window closes that has no watermark in the log."""
        return None if self._wave is None else self._wave.closes_at

    def reached(self, end: PostgresOffset) -> None:
        """The log was passed up to `end`."""
        closes = self.towards
        if (
            closes is not None
            and end.position.transaction is None
            and end.position.committed >= closes
        ):
            place = self._between(end)
            self._close(place)
            self._took(place)

    def end(self, after: PostgresOffset, end: PostgresOffset) -> PostgresOffset:
        """`end` with what was decided; `after` itself when nothing was."""
        before = replace(after.signals or SignalProgress(), inserts=())
        if not self._inserts and self.progress == before and end.same_position(after):
            self._last = after
            return after
        progress = replace(self.progress, inserts=tuple(self._inserts))
        self._last = replace(end, signals=progress if progress.to_json() else None)
        return self._last

    def insert(
        self, range_rows: RangeRows, end: PostgresOffset, reserve: Callable[[int], Segment]
    ) -> None:
        """See Inserter."""
        inserts = () if end.signals is None else end.signals.inserts
        if inserts:
            blocks = [self._block(insert) for insert in inserts]
            size = sum(len(block.images) for block in blocks)
            insert_blocks(range_rows, blocks, reserve(max(1, size)))

    def _block(self, insert: Insert) -> Block:
        """The records of an insert: those of `poll`, or read again."""
        if insert.at not in self._blocks:
            self._blocks[insert.at] = self._again(insert)
        return self._blocks[insert.at]

    def _again(self, insert: Insert) -> Block:
        """Rows as new as they were or newer: the snapshot must see whatever was delivered."""
        if insert.table is None:
            return notification_block(insert, self._topic or "")
        while not self._delivered.are_visible():
            time.sleep(0.05)
        try:
            target = self._reader.target(insert.table)
            found = self._reader.again(target, insert.lower, insert.upper)
        except Skipped as problem:
            raise HeadraceError(
                "postgresql.chunk_gone",
                f"A chunk of {insert.table.name} cannot be read again: {problem}",
                "Restore the table, or start with a new checkpoint.",
            ) from None
        return chunk_block(insert, found)

    def _between(self, offset: PostgresOffset) -> Place:
        """Behind everything up to `offset`, which is between transactions."""
        ordinal = ordinals_used(offset.heartbeat, self.progress.ordinal) + 1
        position, last_commit = offset.position.committed, offset.position.last_commit
        return Place(position, 1, ordinal, 0, position, last_commit)

    def _took(self, place: Place) -> None:
        """No other place is the same as one that was used."""
        if place.part:
            self.progress = replace(self.progress, ordinal=self.progress.ordinal + 1)

    # -- the log --------------------------------------------------------------------------------

    def passed(self, passage: Passage) -> None:
        """The log's next rows: signals are heeded, windows opened and closed."""
        rows = passage.rows
        done = 0
        for index in self._signal_rows(passage):
            self._events(passage, rows[done:index])
            done = index
            self._heed(passage, rows[index])
        self._events(passage, rows[done:])

    def _signal_rows(self, passage: Passage) -> list[int]:
        known = np.unique(passage.rows["relation"])
        mine = [i for i in known if passage.facts(int(i)).name == self.signal_table]
        if not mine:
            return []
        rows = passage.rows
        operations = np.isin(rows["operation"], (ord("c"), ord("d")))
        return [int(i) for i in np.flatnonzero(np.isin(rows["relation"], mine) & operations)]

    def _events(self, passage: Passage, rows: np.ndarray) -> None:
        if len(rows) == 0:
            return
        xids = passage.transactions["xid"][rows["transaction"]]
        if self._wave is not None:
            self._wave.events(rows, xids, passage.facts, passage.image)
        self._delivered.add(xids)

    # -- signals --------------------------------------------------------------------------------

    def _heed(self, passage: Passage, row: np.void) -> None:
        created = row["operation"] == ord("c")
        values = cells(passage.image(int(row["new"] if created else row["old"])))
        texts = [None if v is None else v.decode(errors="replace") for v in values[:3]]
        identity = (texts[0] if texts else None) or ""
        wave = self._wave
        if wave is not None and wave.closes_at is None and identity.startswith(wave.name):
            if identity.endswith("-open") and created:
                wave.opened = True
            elif identity.endswith("-close") or not created:
                self._close(self._place(passage, row))
            return
        if created and "source" in self._config.signal_enabled_channels:
            if len(texts) < 3:
                log.warning("signal %s is ignored: the signal table lacks columns", identity)
                return
            signal = Signal(identity, texts[1] or "", texts[2])
            self.heed(signal, self._place(passage, row))

    def _place(self, passage: Passage, row: np.void) -> Place:
        """Before a row of the log."""
        entry = passage.transactions[row["transaction"]]
        last = None if entry["last_commit"] == NULL else int(entry["last_commit"])
        position, ordinal, lsn = int(row["position"]), int(row["ordinal"]), int(row["lsn"])
        if ordinal == 0:
            at = (position, 1, _BEFORE_TRANSACTION)
            part = 0
        else:
            at, part = (position, int(row["kind"]), ordinal - 1), INSERT_PARTS
        xid = None if entry["xid"] == NULL else int(entry["xid"])
        place = Place(*at, part, lsn, last, ordinal, xid)
        # An UPDATE of the signal table is two rows of one message: they share the place.
        if self._before is None or not self._before.is_at(place):
            self._before = place
        return self._before

    def heed(self, signal: Signal, place: Place) -> None:
        """Do what a signal says; what is wrong with it is logged. Whatever it is, the signal is in
        the log or the checkpoint, so an error of its own would come again with every start."""
        before = self.progress
        try:
            action = parse_action(signal)
            for name in unread_members(signal):
                log.warning("signal %s has a member that nobody reads: %s", signal.id, name)
            self._act(signal, action, place)
        except (HeadraceError, psycopg.Error):
            raise  # the database's
        except Exception as problem:
            self.progress = before
            known = isinstance(problem, ValueError)
            log.warning("signal %s is ignored: %s", signal.id, problem, exc_info=not known)

    def _act(self, signal: Signal, action: Action, place: Place) -> None:
        match action:
            case WindowMark():
                pass  # of a chunk that was given up
            case LogMessage(message):
                signal_log.info("%s", message.replace("{}", format_lsn(place.lsn)))
            case ExecuteSnapshot():
                self._execute(signal, action, place)
            case StopSnapshot(collections):
                if self.progress.running:
                    stops = (*self.progress.stops, collections)
                    self.progress = replace(self.progress, stops=stops)
                    if self._wave is None:
                        self._stop(place)
                        self._read(place)
            case PauseSnapshot():
                if self.progress.running and not self.progress.paused:
                    self.progress = replace(self.progress, paused=True)
                    self._metrics.ended("PAUSED")
                    self._tell("PAUSED", place, {"data_collections": self._names()})
            case ResumeSnapshot():
                if self.progress.paused:
                    self.progress = replace(self.progress, paused=False)
                    self._tell("RESUMED", place, {"data_collections": self._names()})
                    if self._wave is None:
                        self._read(place)

    def _execute(self, signal: Signal, action: ExecuteSnapshot, place: Place) -> None:
        wanted = tables_to_read(signal.id, action, self._reader.tables())
        if action.blocking:
            waiting = (*self.progress.blocking, *wanted)
            self.progress = replace(self.progress, blocking=waiting, xid=place.xid)
            return
        idle = not self.progress.running
        known = {table.name for table in self.progress.tables}
        more = tuple(table for table in wanted if table.name not in known)
        for table in wanted:
            if table.name in known:
                log.warning("signal %s: %s is being read already", signal.id, table.name)
        self.progress = replace(self.progress, tables=self.progress.tables + more)
        if idle and self.progress.running:
            self.progress = replace(self.progress, paused=False)
            self._tell("STARTED", place, {"data_collections": self._names()})
            self._read(place)

    def _stop(self, place: Place) -> None:
        """What was asked to stop while a window was open stops when it has closed."""
        stops, self.progress = self.progress.stops, replace(self.progress, stops=())
        for collections in stops:
            tables = self.progress.tables
            stopped = tables_to_stop(collections, tables)
            if not stopped:
                continue
            names = ",".join(table.name for table in stopped)
            self._tell("ABORTED", place, {"data_collections": names})
            if tables[0] in stopped:
                self.progress = self.progress.next_table()
            rest = tuple(table for table in tables if table not in stopped)
            self.progress = replace(self.progress, tables=rest)
            if not rest:
                self._metrics.ended("ABORTED")
                self.progress = replace(self.progress, paused=False)

    # -- chunks ---------------------------------------------------------------------------------

    def _close(self, place: Place) -> None:
        """The window closes: what is left of its chunks is inserted, the next ones are read."""
        wave = self._wave
        assert wave is not None
        self._wave = None
        # Reading holds off a TRUNCATE, so it comes in the window or not at all.
        before = [t for t in self.truncates if t[:2] < (place.position, place.row)]
        wave.truncated({oid for _, _, oid in before})
        del self.truncates[: len(before)]
        told = False
        for chunk, window in zip(wave.chunks, wave.windows, strict=True):
            if window is not None:
                if window.lacking and self._repeated < _MOST_REPEATS:
                    # Rows were dropped whose values nobody else delivers: read from here again.
                    self._repeated += 1
                    break
                self._repeated = 0
                if told:
                    self._announce(chunk, place)
                told = True
                self._insert(chunk, window.kept(), place)
                scanned = self.progress.scanned + len(window.rows)
                self.progress = replace(self.progress, after=chunk.upper, scanned=scanned)
                self._metrics.scanned(len(window.rows))
            # What was done with before the first window was told when it opened.
            if chunk.done is not None and told:
                self._done(place, chunk.done)
        self._stop(place)
        self._read(place)

    def _insert(self, chunk: Chunk, rows: ChunkRows, place: Place) -> None:
        if len(rows):
            insert = Insert(
                place.take(len(rows)),
                place.lsn,
                place.last_commit,
                chunk.taken_us,
                chunk.table,
                chunk.lower,
                chunk.upper,
            )
            self._add(insert, chunk_block(insert, rows))

    def _read(self, place: Place) -> None:
        """Read the next chunks that have rows; tables without are done with on the way."""
        if not self.progress.running or self.progress.paused:
            self._sizes.rest()
            self._reader.rest()
        if not self.progress.running or self.progress.paused or not self._delivered.are_visible():
            return
        name = str(uuid.uuid4())
        while self.truncates and self.truncates[0][:2] < (place.position, place.row):
            del self.truncates[0]
        try:
            if self._marks is not None:
                self._marks.open(name)
            wave = self._next_wave(place, name)
            if self._marks is not None:
                self._marks.close(name)
            elif wave is not None:
                # Without watermarks the window closes where the log is now.
                wave.opened, wave.closes_at = True, self._reader.position()
        except HeadraceError as problem:
            if problem.retriable:
                raise
            log.error("the incremental snapshot is given up: %s", problem)
            self._tell("ABORTED", place, {"data_collections": self._names()})
            self._metrics.ended("ABORTED")
            self.progress = replace(
                self.progress, tables=(), after=None, maximum=None, scanned=0, paused=False
            )
            return
        self._wave = wave

    def _next_wave(self, place: Place, name: str) -> Wave | None:
        while self.progress.running:
            began = time.monotonic()
            chunks = self._reader.chunks(
                self.progress.tables,
                self.progress.after,
                self.progress.maximum,
                self._sizes,
            )
            self._sizes.took(time.monotonic() - began, chunks)
            for chunk in chunks:
                if chunk.rows is not None:
                    self._announce(chunk, place)
                    return Wave(name, chunks)
                if chunk.done is not None:
                    self._done(place, chunk.done)
        return None

    def _announce(self, chunk: Chunk, place: Place) -> None:
        self.progress = replace(self.progress, maximum=chunk.maximum)
        self._metrics.reads(chunk, self.progress.tables)
        told = {
            "maximum_key": _key_text(chunk.maximum),
            "last_processed_key": _key_text(chunk.upper),
            "current_collection_in_progress": chunk.table.name,
            "data_collections": self._names(),
        }
        self._tell("IN_PROGRESS", place, told)

    def _done(self, place: Place, status: str) -> None:
        told = {
            "scanned_collection": self.progress.tables[0].name,
            "total_rows_scanned": str(self.progress.scanned),
            "data_collections": self._names(),
            "status": status,
        }
        signal = self.progress.tables[0].signal
        self._tell("TABLE_SCAN_COMPLETED", place, told)
        self.progress = self.progress.next_table()
        if not self.progress.running:
            self._metrics.ended("COMPLETED")
            self._tell("COMPLETED", place, {}, signal)

    def _names(self) -> str:
        return ",".join(table.name for table in self.progress.tables)

    def _tell(
        self, kind: str, place: Place, told: dict[str, str], signal: str | None = None
    ) -> None:
        if self._notifier.enabled:
            signal = self.progress.tables[0].signal if signal is None else signal
            self._notify(signal, kind, INCREMENTAL, place, told)

    def _notify(self, name: str, kind: str, what: str, place: Place, told: dict[str, str]) -> None:
        found = self._notifier.notify(name, kind, what, told)
        if self._topic is not None:
            insert = Insert(
                place.take(1),
                place.lsn,
                place.last_commit,
                found.timestamp * 1000,
                notification=found.to_json(),
            )
            self._add(insert, notification_block(insert, self._topic))

    def _add(self, insert: Insert, block: Block) -> None:
        self._inserts.append(insert)
        self._blocks[insert.at] = block

    def close(self) -> None:
        """Close the connections; never raises."""
        self._channels.close()
        self._reader.close()
        if self._marks is not None:
            self._marks.shut()


def _key_text(key: tuple[str | None, ...] | None) -> str:
    return ",".join("null" if value is None else value for value in key or ())
