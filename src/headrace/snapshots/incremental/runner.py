"""Runs incremental snapshots: applies signals at their places in the log, reads chunks, and inserts
the rows that their windows leave.

Only the thread that polls calls it. Its decisions are in the end offset of a range before the range
is planned (Invariant 2c); see decision 9.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.images import cells
from headrace.connect.rows import NULL, RowKind, place_of
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, P
from headrace.offsets.ordinals import INSERT_PARTS, ordinals_used
from headrace.signals.collection import SignalTexts, Watermarks, signal_columns
from headrace.signals.notifications import INCREMENTAL, INITIAL, Notifier, report_outcome
from headrace.signals.processor import SignalProcessor
from headrace.signals.progress import Insert, SignalProgress
from headrace.signals.selection import followed_tables, tables_to_read, tables_to_stop
from headrace.signals.signal import ExecuteSnapshot, Signal
from headrace.snapshots.incremental.chunk_source import ChunkSource
from headrace.snapshots.incremental.inserts import (
    Block,
    Insertions,
    insert_blocks,
)
from headrace.snapshots.incremental.metrics import IncrementalMetrics
from headrace.snapshots.incremental.places import InsertionPoint
from headrace.snapshots.incremental.reader import ChunkReader, OtherOrder
from headrace.snapshots.incremental.repeated import RepeatedChunks
from headrace.snapshots.incremental.rows import ReadChunk
from headrace.snapshots.incremental.sizes import ChunkSizes
from headrace.snapshots.incremental.window import Wave
from headrace.snapshots.tables import TableId
from headrace.spool.segment import Segment
from headrace.streaming.passage import Passage
from headrace.streaming.range_rows import RangeRows

log = logging.getLogger(__name__)

_BEFORE_TRANSACTION = 1 << 44  # ordinal of records before a transaction's first message
_REPEATS = 5  # the most for one chunk


@dataclass(frozen=True)
class SignalStream(Generic[P]):
    """The log that contains the signals and windows.

    `greets`: a notification says that no initial snapshot was read before. `collection` is the name
    of the signal collection (None: no signal collection), and `texts` reads its rows; `marks`
    writes the marks of windows to it (None: a window closes at the log's position after its chunks
    were read). `last_commit` returns the fields of `source` for the last commit at a position,
    `position_text` the place for people. `drop_transaction` leaves out an open transaction, and
    raises ValueError for an invalid id (None: the log has committed ones only).
    """

    greets: bool
    collection: str | None = None
    marks: Watermarks | None = None
    last_commit: Callable[[P], int | None] = lambda _position: None
    position_text: Callable[[int], str] = "{:x}".format
    texts: SignalTexts = signal_columns
    drop_transaction: Callable[[str], None] | None = None


class IncrementalSnapshots(Generic[P]):
    """The incremental snapshots of one stream, and the signals that ask for them: see
    `streaming.passage.Inserter`. The first `begin` continues the snapshots that were running."""

    def __init__(
        self,
        config: ConnectorConfig,
        source: ChunkSource[Any],
        stream: SignalStream[P],
        metrics: IncrementalMetrics,
    ) -> None:
        self.progress = SignalProgress()
        self._source, self._reader = source, ChunkReader(source)
        self._stream, self._greets = stream, stream.greets
        self._metrics = metrics
        metrics.estimates = source.estimates
        self._sizes = ChunkSizes.of(config)
        self._signal_processor = SignalProcessor(config, self)
        self._notifier = Notifier(config)
        self._insertions = Insertions(self._notifier, source.transaction_image)
        self._repeated_chunks = RepeatedChunks(source, self._reader, self._notifier.topic or "")
        self._last: Offset[P] | None = None
        self._wave: Wave | None = None
        self._repeated = 0
        self._before: InsertionPoint | None = None
        self.truncates: list[tuple[int, int, TableId]] = []
        """Position, row and table (see `ReadChunk.parts`) of truncates, in the order of the log.
        The reader of the log appends them, in its thread; this one deletes from the front."""

    # -- ranges ---------------------------------------------------------------------------------

    @property
    def awaits(self) -> bool:
        """Whether an open window waits for the log."""
        return self._wave is not None

    @property
    def inserted(self) -> bool:
        """Whether a record was inserted since `begin`."""
        return bool(self._insertions.inserts)

    @property
    def size(self) -> int:
        """Bytes that were inserted since `begin`."""
        return self._insertions.size

    @property
    def towards(self) -> int | None:
        """The place of the log at which a window without watermarks closes; None without such a
        window."""
        return None if self._wave is None else self._wave.closes_at

    def begin(self, after: Offset[P]) -> None:
        """Begin the range that follows `after`."""
        if not self._follows(after):
            # An earlier process ended that range; the open window of this process is obsolete.
            progress = after.signals or SignalProgress()
            unread = self._repeated_chunks.unread(progress.inserts, progress.tables)
            self.progress = replace(progress, tables=progress.tables + unread)
            self._wave = None
            self._source.delivered.forget()
        self._insertions.clear()
        self.progress = self.progress.after_range()
        self._before = None
        self._last = after
        if self._stream.collection or self._signal_processor.has_channels:
            self._source.delivered.begin()
        position = after.position
        while self._wave is None and self.truncates and self.truncates[0][0] < position.committed:
            del self.truncates[0]
        if position.transaction is not None:
            return
        place = self._between(after)
        if self._greets:
            self._greets = False
            self._insertions.notify(str(uuid.uuid4()), "SKIPPED", INITIAL, place, {})
        # When Spark asks for the range after `after`, its checkpoint contains `after`.
        self._signal_processor.apply_channels(after.signals or SignalProgress(), place)
        if self.progress.running and self._wave is None:
            self._stop_requested(place)
            self._read(place)
        self._use(place)

    def _follows(self, after: Offset[P]) -> bool:
        """Whether `after` is the end of the last range, perhaps with a heartbeat."""
        last = self._last
        return last is not None and after.same_position(last)

    def reached(self, end: Offset[P]) -> None:
        """Note that the log was read up to `end`; a window that ends there is closed."""
        closes, position = self.towards, end.position
        if closes is not None and position.transaction is None and position.committed >= closes:
            place = self._between(end)
            self._close(place)
            self._use(place)

    def end(self, after: Offset[P], end: Offset[P]) -> Offset[P]:
        """Return `end` with the decisions of the range; `after` itself without any."""
        before = (after.signals or SignalProgress()).after_range()
        inserts = self._insertions.inserts
        if not inserts and self.progress == before and end.same_position(after):
            self._last = after
            return after
        progress = replace(self.progress, inserts=tuple(inserts))
        self._last = replace(end, signals=progress if progress.to_json() else None)
        return self._last

    def insert(
        self, range_rows: RangeRows, end: Offset[P], reserve: Callable[[int], Segment]
    ) -> None:
        """Put the records that `end` describes between the rows of the range."""
        inserts = () if end.signals is None else end.signals.inserts
        if inserts:
            blocks = [block for block in map(self._block, inserts) if block is not None]
            size = sum(block.size for block in blocks)
            insert_blocks(range_rows, blocks, reserve(max(1, size)))

    def _block(self, insert: Insert) -> Block | None:
        """Return the records of an insert; those of another process are made again."""
        block = self._insertions.block(insert)
        if block is None:
            block = self._repeated_chunks.block(insert)
            if block is not None:
                self._insertions.keep(block)
        return block

    def _between(self, offset: Offset[P]) -> InsertionPoint:
        """Return the insertion point after everything up to `offset`, which is between
        transactions."""
        ordinal = ordinals_used(offset.heartbeat, self.progress.ordinal) + 1
        position = offset.position.committed
        last_commit = self._stream.last_commit(offset.position)
        place = offset.position.shown
        return InsertionPoint(position, RowKind.OUTSIDE, ordinal, 0, place, last_commit)

    def _use(self, place: InsertionPoint) -> None:
        """Count a place between transactions as used, if a record was inserted there."""
        if place.part:
            self.progress = replace(self.progress, ordinal=self.progress.ordinal + 1)

    # -- the log --------------------------------------------------------------------------------

    def passed(self, passage: Passage) -> None:
        """Process the log's next rows: apply signals, open and close windows."""
        rows = passage.rows
        rows_done = 0
        for index in self._signal_rows(passage):
            self._see(passage, rows[rows_done:index])
            rows_done = index
            self._apply_row(passage, rows[index])
        self._see(passage, rows[rows_done:])

    def _signal_rows(self, passage: Passage) -> list[int]:
        rows = passage.rows
        relations = [
            relation
            for relation in np.unique(rows["relation"])
            if passage.facts(int(relation)).name == self._stream.collection
        ]
        if not relations:
            return []
        operations = np.isin(rows["operation"], (ord("c"), ord("d")))
        return [int(i) for i in np.flatnonzero(np.isin(rows["relation"], relations) & operations)]

    def _see(self, passage: Passage, rows: np.ndarray) -> None:
        if len(rows) == 0:
            return
        if self._wave is not None:
            self._wave.events(rows, passage.transactions, passage.facts, passage.image)
        self._source.delivered.add(rows, passage.transactions)

    def _apply_row(self, passage: Passage, row: np.void) -> None:
        created = row["operation"] == ord("c")
        image = passage.image(int(row["new"] if created else row["old"]))
        texts = self._stream.texts(cells(image))
        identity = (texts[0] if texts else None) or ""
        wave = self._wave
        if wave is not None and wave.closes_at is None and identity.startswith(wave.name):
            if identity.endswith("-open") and created:
                wave.opened = True
            elif identity.endswith("-close") or not created:
                self._close(self._place(passage, row))
        elif created and self._signal_processor.reads_collection:
            self._signal_processor.apply_row(identity, texts, self._place(passage, row))

    def _place(self, passage: Passage, row: np.void) -> InsertionPoint:
        """Return the insertion point before a row of the log."""
        entry = passage.transactions[row["transaction"]]
        last = None if entry["last_commit"] == NULL else int(entry["last_commit"])
        position, ordinal, row_place = place_of(row), int(row["ordinal"]), int(row["place"])
        if ordinal == 0:
            at = (position, int(RowKind.OUTSIDE), _BEFORE_TRANSACTION)
            part = 0
        else:
            at, part = (position, int(row["kind"]), ordinal - 1), INSERT_PARTS
        xid = None if entry["xid"] == NULL else int(entry["xid"])
        place = InsertionPoint(*at, part, row_place, last, ordinal, xid)
        # An UPDATE of the signal table is two rows of one message, which share the place.
        if self._before is None or not self._before.is_at(place):
            self._before = place
        return self._before

    # -- signals --------------------------------------------------------------------------------

    def execute(self, signal: Signal, action: ExecuteSnapshot, place: InsertionPoint) -> None:
        """Read the tables of an execute-snapshot: see `signals.processor.SnapshotActions`."""
        source = self._source
        named = tables_to_read(signal.id, action, source.tables(), source.qualifier)
        silent = source.silent([table.name for table in named])
        requested = followed_tables(signal.id, named, silent)
        if action.blocking:
            waiting = (*self.progress.blocking, *requested)
            self.progress = replace(self.progress, blocking=waiting, xid=place.xid)
            return
        idle = not self.progress.running
        self.progress = replace(self.progress, tables=(*self.progress.tables, *requested))
        if idle and self.progress.running:
            self.progress = replace(self.progress, paused=False)
            self._notify("STARTED", place, {"data_collections": self._names()})
            self._read(place)

    def stop(self, collections: tuple[str, ...], place: InsertionPoint) -> None:
        """Stop reading these tables; an empty tuple means all."""
        self.progress = replace(self.progress, stops=(*self.progress.stops, collections))
        if self._wave is None:
            self._stop_requested(place)
            self._read(place)

    def pause(self, place: InsertionPoint) -> None:
        """Read no further chunk until `resume`."""
        self.progress = replace(self.progress, paused=True)
        self._metrics.ended("PAUSED")
        self._notify("PAUSED", place, {"data_collections": self._names()})

    def resume(self, place: InsertionPoint) -> None:
        """Continue reading."""
        self.progress = replace(self.progress, paused=False)
        self._notify("RESUMED", place, {"data_collections": self._names()})
        if self._wave is None:
            self._read(place)

    def drop_transaction(self, transaction: str) -> None:
        """See SnapshotActions."""
        if self._stream.drop_transaction is None:
            raise ValueError("the log has committed transactions only")
        self._stream.drop_transaction(transaction)

    def position_text(self, place: InsertionPoint) -> str:
        """Return the place of the log for people."""
        return self._stream.position_text(place.shown)

    def _stop_requested(self, place: InsertionPoint) -> None:
        """Stop the tables that a signal asked to stop, which waits for an open window to close."""
        stops, self.progress = self.progress.stops, replace(self.progress, stops=())
        for collections in stops:
            tables = self.progress.tables
            stopped = tables_to_stop(collections, tables, self._source.qualifier)
            if not stopped:
                continue
            names = ",".join(table.name for table in stopped)
            self._notify("ABORTED", place, {"data_collections": names})
            self.progress = self.progress.without(stopped, "ABORTED")
            if not self.progress.running:
                self._metrics.ended("ABORTED")
                self.progress = replace(self.progress, paused=False)

    # -- chunks ---------------------------------------------------------------------------------

    def _close(self, place: InsertionPoint) -> None:
        """Close the window: insert the remaining rows of its chunks, and read the next chunks."""
        wave = self._wave
        assert wave is not None
        self._wave = None
        # Reading a table blocks its TRUNCATE, so it is in the window or not at all.
        before = [t for t in self.truncates if t[:2] < (place.position, place.row)]
        wave.truncated({part for _, _, part in before})
        del self.truncates[: len(before)]
        announced = False
        for chunk, window in zip(wave.chunks, wave.windows, strict=True):
            if window is not None:
                if window.lacking and self._repeated < _REPEATS:
                    # No other record has the values of the dropped rows: read again from here.
                    self._repeated += 1
                    break
                self._repeated = 0
                if announced:
                    self._announce(chunk, place)
                announced = True
                self._insertions.add_rows(chunk, window.kept(), place)
                scanned = self.progress.scanned + len(window.rows)
                self.progress = replace(self.progress, after=chunk.upper, scanned=scanned)
                self._metrics.scanned(len(window.rows))
            # Tables that ended before the first window were announced when it opened.
            if chunk.done is not None and announced:
                self._done(place, chunk.done)
        self._stop_requested(place)
        self._read(place)

    def _read(self, place: InsertionPoint) -> None:
        """Read the next chunks that have rows; tables without rows end on the way."""
        if not self.progress.running or self.progress.paused:
            self._sizes.reset()
            self._source.rest()
            return
        if not self._source.delivered.are_visible():
            return
        name = str(uuid.uuid4())
        while self.truncates and self.truncates[0][:2] < (place.position, place.row):
            del self.truncates[0]
        marks = self._stream.marks
        try:
            if marks is not None:
                marks.open(name)
            wave = self._next_wave(place, name)
            if marks is not None:
                marks.close(name)
            elif wave is not None:
                # Without watermarks the window closes at the log's present position.
                wave.opened, wave.closes_at = True, self._source.position()
        except HeadraceError as problem:
            if problem.retriable:
                raise
            log.error("the incremental snapshot is given up: %s", problem)
            self._notify("ABORTED", place, {"data_collections": self._names()})
            self._metrics.ended("ABORTED")
            given_up = self.progress.without(self.progress.tables, "ABORTED")
            self.progress = replace(given_up, paused=False)
            return
        self._wave = wave

    def _next_wave(self, place: InsertionPoint, name: str) -> Wave | None:
        while self.progress.running:
            began = time.monotonic()
            try:
                chunks = self._reader.chunks(self.progress, self._sizes)
            except OtherOrder as problem:
                log.warning("%s", problem)
                if problem.table is self.progress.tables[0]:
                    self.progress = self.progress.before_first_chunk()
                continue
            self._sizes.adapt(time.monotonic() - began, chunks)
            for chunk in chunks:
                if chunk.rows is not None:
                    self._announce(chunk, place)
                    return Wave(name, chunks)
                if chunk.done is not None:
                    self._done(place, chunk.done)
        return None

    # -- notifications --------------------------------------------------------------------------

    def _announce(self, chunk: ReadChunk, place: InsertionPoint) -> None:
        self.progress = replace(self.progress, maximum=chunk.maximum, order=chunk.order)
        self._metrics.reads(chunk, self.progress.tables)
        data = {
            "maximum_key": self._source.shown_key(chunk.maximum),
            "last_processed_key": self._source.shown_key(chunk.upper),
            "current_collection_in_progress": chunk.table.name,
            "data_collections": self._names(),
        }
        self._notify("IN_PROGRESS", place, data)

    def _done(self, place: InsertionPoint, status: str) -> None:
        data = {
            "scanned_collection": self.progress.tables[0].name,
            "total_rows_scanned": str(self.progress.scanned),
            "data_collections": self._names(),
            "status": status,
        }
        signal = self.progress.tables[0].signal
        self._notify("TABLE_SCAN_COMPLETED", place, data)
        self.progress = self.progress.next_table(status)
        if self.progress.running and all(t.signal != signal for t in self.progress.tables):
            report_outcome(signal, "COMPLETED", {})
        if not self.progress.running:
            self._metrics.ended("COMPLETED")
            self._notify("COMPLETED", place, {}, signal)

    def _names(self) -> str:
        return ",".join(table.name for table in self.progress.tables)

    def _notify(
        self, kind: str, place: InsertionPoint, data: dict[str, str], signal: str | None = None
    ) -> None:
        """Notify with the id of `signal`, or of the signal that asked for the first table."""
        if signal is None and not self.progress.running:
            return  # no table is left for a notification
        identity = self.progress.tables[0].signal if signal is None else signal
        self._insertions.notify(identity, kind, INCREMENTAL, place, data)

    def close(self) -> None:
        """Close the connections; never raises."""
        self._signal_processor.close()
        self._source.close()
        if self._stream.marks is not None:
            self._stream.marks.shut()
