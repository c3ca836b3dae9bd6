"""Streaming: a receiver, its spool, and ranges of the received log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol

import numpy as np

from headrace.config.properties.execution import ExecutionConfig
from headrace.connect.deadline import Deadline
from headrace.connect.slices import Plan, Slice
from headrace.offsets.offset import Offset, P
from headrace.spool.segment import SEGMENT_BYTES, Segment
from headrace.spool.spool import Spool, memory_at
from headrace.streaming.counts import TransactionCounts
from headrace.streaming.facts import EventSettings, Facts
from headrace.streaming.log_reader import LogReader
from headrace.streaming.passage import Inserter, Passage
from headrace.streaming.range_rows import Cutter, PieceRows, RangeRows
from headrace.streaming.ranges import Backlog, Limit, holds_rows, is_delivered, rows_until
from headrace.streaming.receiver import Receiver, StreamState
from headrace.streaming.slices import FactsPacker, Lookup
from headrace.streaming.unacknowledged import Unacknowledged

SLICE_BYTES = 2 << 20
"""Log bytes that are worth a task of their own."""
NARROW_ROW_BYTES = 64
"""Bytes of a narrow row. Without a limit of rows, a range has no more rows than its bytes could
contain of this size: the index of narrower rows would be larger than the rows."""
INLINE_SLICE_BYTES = 8 << 20
"""The most bytes that a slice may carry to another host."""
GATHER_ROWS = 1000
GATHER_SECONDS = 0.3
"""Seconds that a range of GATHER_ROWS rows or more waits while the log brings more, because a
micro-batch costs as much as thousands of rows."""
GATHER_PAUSE_SECONDS = 0.03
"""Seconds without more rows after which it stops waiting."""
WINDOW_SECONDS = 0.5
"""Seconds that a range waits for the windows of further chunks."""


@dataclass(frozen=True)
class StreamOptions:
    """The way a log becomes ranges and slices.

    `limit` is that of one range, `plan` that of its slices. `spool_bytes` is how much may be
    received ahead. Without records, the position moves every `acknowledge_seconds`; if
    `acknowledges` is false, nothing is acknowledged to the database. `inline`: slices contain their
    bytes. `orphaned` returns whether the query is gone. `lookup` reads rows again in tasks, if a
    post-processor requires it.
    """

    limit: Limit
    plan: Plan
    spool_bytes: int
    acknowledge_seconds: float
    orphaned: Callable[[], bool]
    acknowledges: bool = True
    inline: bool = False
    lookup: Lookup | None = None

    @staticmethod
    def of(
        config: ExecutionConfig, plan: Plan, orphaned: Callable[[], bool], **more: Any
    ) -> StreamOptions:
        """Return the options of a configuration; `more` are options that it does not have."""
        return StreamOptions(
            Limit(config.headrace_range_max_bytes, config.headrace_range_max_rows),
            plan,
            spool_bytes=config.headrace_spool_max_bytes,
            acknowledge_seconds=config.headrace_acknowledge_interval / 1000,
            orphaned=orphaned,
            **more,
        )

    def range_limit(self) -> Limit:
        """Return the limit of one range, with a number of rows, and such that its slices can be
        sent."""
        limit = self.limit
        rows = limit.max_rows or max(1, limit.max_bytes // NARROW_ROW_BYTES)
        size = limit.max_bytes
        if self.inline:
            size = min(size, self.plan.slices * INLINE_SLICE_BYTES)
        return Limit(size, rows)


class Versions(Protocol):
    """The versions of collections in the log and the catalogue: one entry per version, in the order
    in which they were seen. Both lists grow, and never change otherwise."""

    @property
    def facts(self) -> Sequence[Facts]:
        """The facts of each version; rows refer to them by number."""
        ...

    @property
    def collections(self) -> Sequence[str]:
        """The name of each version's collection in transaction metadata."""
        ...


_reports_start = True


def withhold_starts() -> None:
    """Keep streams of this process from reporting their start to the database; they report only
    later acknowledgements."""
    global _reports_start
    _reports_start = False


class RangeMetrics(Protocol):
    """Receives the planned ranges, for metrics."""

    def saw(
        self,
        rows: np.ndarray,
        transactions: np.ndarray,
        topics: Mapping[int, str],
        *,
        ends_inside: bool,
    ) -> None:
        """Process rows of a range in the order of the log, and the transactions that they refer to;
        `ends_inside`: the last one continues after the range. `topics` is by relation."""
        ...


class EndMarks(Protocol[P]):
    """Decisions at the end of a range for its records, which are not a function of the log
    (Invariant 2c)."""

    def shown(
        self, start: Offset[P], end: Offset[P], memory: Callable[[int], memoryview]
    ) -> Offset[P]:
        """Return `end` of the next range, with what its records show, and other state of the log;
        `memory` returns the memory after a virtual address of the log."""
        ...

    def write(self, transactions: np.ndarray, end: P) -> None:
        """Write the decisions in `end` to the transactions of its range."""
        ...


class Streaming(Generic[P]):
    """The log from one position on: see headrace.connectors.source.OpenStream. Only one thread
    calls it; the receiver has its own."""

    def __init__(
        self,
        reader: LogReader,
        versions: Versions,
        start: Offset[P],
        settings: EventSettings,
        options: StreamOptions,
        *,
        metrics: RangeMetrics,
        inserter: Inserter[P] | None = None,
        counts: TransactionCounts | None = None,
        marks: EndMarks[P] | None = None,
    ) -> None:
        """`reader` begins at `start` and numbers rows by `versions`. `settings` are those of the
        events. With `counts`, transactions are counted. `marks` are written to the transactions of
        a range."""
        self.start = start
        self.reader = reader
        self.versions = versions
        self._settings = settings
        self._options = options
        self._metrics = metrics
        self._inserter = inserter
        self._counts = counts
        self._marks = marks
        self._limit = self._left = options.range_limit()
        self._delivered = start.position
        self._taken = (0, 0)  # bytes and rows of the last range that was found
        self._cutter = Cutter(FactsPacker(versions.facts), options.lookup)
        self._idle_since = time.monotonic()
        self._plans: list[Segment] = []
        least = 3 * max(self._limit.max_bytes, SEGMENT_BYTES)
        self.spool = Spool(reader.end_type, max(options.spool_bytes, least))
        self._unacknowledged = Unacknowledged(self.spool)
        if _reports_start:
            self.acknowledge(start.position.committed)
        self.receiver = Receiver(
            reader,
            self.spool,
            orphaned=options.orphaned,
            counts=counts,
            collections=versions.collections,
        )
        self.receiver.start()

    def poll(
        self, after: Offset[P], seconds: float, target: int | None, *, moves: bool = False
    ) -> Offset[P]:
        """Return the end of the next range, or `after` when no records come within `seconds`; if it
        `moves`, the position is then moved to the log's.

        With a `target` place (availableNow), `after` is only returned when the stream has passed it
        (Invariant: a bounded query never ends before its target).
        """
        end = self._next(after, seconds, target, moves=moves)
        return end if self._marks is None else self._marks.shown(after, end, self._memory_at)

    def _next(
        self, after: Offset[P], seconds: float, target: int | None, *, moves: bool
    ) -> Offset[P]:
        self._delivered = after.position
        self._drop_delivered()
        # Ranges follow one another, so the slices of earlier plans are done.
        for plan in self._plans:
            plan.drop()
        self._plans.clear()
        inserter = self._inserter
        if inserter is None:
            return self._poll(after, seconds, target, moves=moves)
        inserter.begin(after)
        rest = 0 if inserter.inserted else seconds
        end = self._poll(after, rest, target, inserter.towards, moves=moves)
        self._pass(after, end)
        size, rows = self._taken
        limit = self._limit
        # The log will close an open window soon: wait for more chunks in this range.
        deadline = Deadline(WINDOW_SECONDS)
        try:
            while inserter.awaits and inserter.inserted and not deadline.is_over:
                room = limit.max_bytes - size - inserter.size
                if room <= 0 or limit.max_rows <= rows:
                    break
                self._left = Limit(room, limit.max_rows - rows)
                rest = deadline.remaining()
                further = self._poll(end, rest, target, inserter.towards, waits=False)
                if further == end and inserter.towards is None:
                    break
                self._pass(end, further)
                end = further
                size, rows = size + self._taken[0], rows + self._taken[1]
        finally:
            self._left = self._limit
        return inserter.end(after, self._cut(end, size + inserter.size))

    def _memory_at(self, address: int) -> memoryview:
        with self.spool.lock:
            return memory_at(self.spool.pieces, address)

    def _pass(self, start: Offset[P], end: Offset[P]) -> None:
        """Pass the rows of (start, end] to the inserter."""
        assert self._inserter is not None
        parts = self._parts(start, end)
        pieces = [part.piece for part in parts]
        for part in parts:
            self._inserter.passed(
                Passage(
                    part.rows,
                    part.transactions,
                    lambda index: self.versions.facts[index],
                    lambda address: memory_at(pieces, address),
                )
            )
        self._inserter.reached(end)

    def _poll(
        self,
        after: Offset[P],
        seconds: float,
        target: int | None,
        towards: int | None = None,
        *,
        moves: bool = False,
        waits: bool = True,
    ) -> Offset[P]:
        """Do the work of `poll` for one range. The position also moves `towards` a place without
        records. If `waits` is false, it waits for a `target` no longer than `seconds`."""
        deadline = Deadline(seconds)
        next_question = Deadline(0)
        backlog = Backlog(after.position, self._left)
        while True:
            with self.spool.lock:
                self._raise_error()
                end = self._next_end(after, backlog, towards if target is None else target)
                if end is not None:
                    if waits:
                        end = self._gathered(after, backlog, end)
                    self._idle_since = time.monotonic()
                    return end
                complete = self.receiver.received.complete
                if towards is not None and complete < towards and next_question.is_over:
                    next_question.restart(0.2)
                    self.reader.ask_position()
                if target is None or not waits:
                    if deadline.is_over:
                        return self._moved(after) if moves else after
                elif complete >= target:
                    return after
                elif next_question.is_over:
                    next_question.restart(0.5)
                    self.reader.ask_position()
                # The receiver may wait for the room of segments without captured changes.
                self._drop_delivered()
                self.spool.lock.wait(min(max(deadline.remaining(), 0.01), 0.5))

    def _gathered(self, after: Offset[P], backlog: Backlog[P], end: Offset[P]) -> Offset[P]:
        """Return the end of a larger range than that to `end`, while the log keeps bringing
        rows."""
        deadline = Deadline(GATHER_SECONDS)
        rows = 0
        while rows < self._taken[1] >= GATHER_ROWS and not deadline.is_over:
            if backlog.is_full or self.receiver.blocked:
                break
            rows = self._taken[1]
            self.spool.lock.wait(GATHER_PAUSE_SECONDS)
            self._raise_error()
            taken_before = self._taken
            further = self._next_end(after, backlog, None)
            if further is None:
                self._taken = taken_before
                break
            end = further
        return end

    def _next_end(
        self, after: Offset[P], backlog: Backlog[P], target: int | None
    ) -> Offset[P] | None:
        pieces = self.spool.pieces
        range_end = backlog.end(pieces, cut_open=self.receiver.blocked)
        self._taken = (0, 0) if range_end is None else (range_end.bytes, range_end.rows)
        if range_end is not None:
            end = self._cut(after.at(range_end.position), range_end.bytes)
            if holds_rows(pieces, range_end.position):
                return end
            return replace(self._moved(end), slices=end.slices)
        # No captured change came, but the position may have moved: return an empty range sometimes.
        idle = time.monotonic() - self._idle_since >= self._options.acknowledge_seconds
        if idle or (target is not None and self.receiver.received.complete >= target):
            moved = self._moved(after)
            return None if moved is after else moved
        return None

    def _moved(self, after: Offset[P]) -> Offset[P]:
        """Return `after`, which no row follows, moved to the position of the log; `after` itself if
        it is already there."""
        received, position = self.receiver.received, after.position
        is_open = received.transaction is not None or position.transaction is not None
        moved = position.after(received.end)
        if is_open or moved.committed <= position.committed:
            return after
        return self._cut(after.at(moved), 0)

    def _cut(self, end: Offset[P], size: int) -> Offset[P]:
        """Return `end` of a range of so many bytes, with its number and kind of slices."""
        plan = self._options.plan
        slices = max(1, min(plan.slices, -(-size // SLICE_BYTES)))
        return replace(end, slices=slices, order=plan.order)

    def _raise_error(self) -> None:
        if self.receiver.error is not None:
            raise self.reader.judged(self.receiver.error, self._delivered.committed)

    def _drop_delivered(self) -> None:
        """Drop the segments that no range needs any more."""
        delivered = self._delivered
        self.spool.drop(lambda piece: is_delivered(piece, delivered))

    def slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """Return the slices of (start, end]; wait until all of it was received (after a restart,
        the database sends a range that is planned again once more)."""
        self._await(start, end)
        parts = self._parts(start, end)
        in_order = end.slices == 1 or end.order == "position"
        range_rows = RangeRows.of(
            parts,
            self.versions.facts,
            counted=self._counts is not None,
            reserve=self._reserve if parts and in_order and not self._options.inline else None,
        )
        if self._marks is not None:
            self._marks.write(range_rows.transactions, end.position)
        if self._counts is not None:
            self._write_endings(self._counts, parts, range_rows)
        if parts:
            self._saw(range_rows.rows, range_rows.transactions, end.position)
        if self._inserter is not None:
            self._inserter.insert(range_rows, end, self._reserve)
        if len(range_rows.rows) == 0:
            return []
        if self._options.inline:
            return list(self._cutter.inline(range_rows, end, self._settings))
        return list(self._cutter.in_memory(range_rows, end, self._settings, self._reserve))

    def _reserve(self, size: int) -> Segment:
        """Return memory for the rows or images of one range."""
        segment = self.spool.reserve(size)
        self._plans.append(segment)
        return segment

    def _saw(self, rows: np.ndarray, transactions: np.ndarray, end: P) -> None:
        last = int(rows["relation"][-1])
        topics = {last: self.versions.facts[last].topic}
        self._metrics.saw(rows, transactions, topics, ends_inside=end.transaction is not None)
        up_to = end.committed if end.transaction is None else end.transaction + 1
        self._unacknowledged.planned(up_to, int(transactions["commit_us"][rows["transaction"][0]]))

    def state(self) -> StreamState:
        """Return the stream's state for metrics."""
        with self.spool.lock:
            queued_bytes = sum(piece.written for piece in self.spool.pieces)
        return StreamState(
            self.receiver.connected(),
            self.receiver.received.filtered,
            queued_bytes,
            self.spool.max_bytes,
            self._unacknowledged.oldest(),
            self.receiver.silent_seconds(),
        )

    def _parts(self, start: Offset[P], end: Offset[P]) -> list[PieceRows]:
        """Return the rows of (start, end] by piece of the spool."""
        parts = []
        with self.spool.lock:
            for piece in self.spool.pieces:
                rows = piece.index.rows_now()
                first, last = rows_until(rows, start.position), rows_until(rows, end.position)
                if last > first:
                    parts.append(PieceRows(piece, first, last))
        return parts

    def _write_endings(
        self, counts: TransactionCounts, parts: list[PieceRows], range_rows: RangeRows
    ) -> None:
        """Write the images of the ENDs of transactions among the rows, to memory of their own."""
        rows, orders = range_rows.rows, range_rows.orders
        assert orders is not None
        ends = np.cumsum([part.last - part.first for part in parts])
        by_part = [
            (part.piece.index, rows[end - len(part.rows) : end], orders[end - len(part.rows) : end])
            for part, end in zip(parts, ends, strict=True)
        ]
        size = sum(counts.endings_size(index, part, order) for index, part, order in by_part)
        if size == 0:
            return
        segment = self._reserve(size)
        used = 0
        for index, part, order in by_part:
            used = counts.write_endings(index, part, order, segment.array, segment.start, used)
        range_rows.segments.append(segment)

    def _await(self, start: Offset[P], end: Offset[P]) -> None:
        self._delivered = start.position
        next_question = Deadline(5)
        while True:
            with self.spool.lock:
                self._raise_error()
                if self.receiver.received.reaches(end.position):
                    self.spool.unbounded = False
                    return
                # A range that is read again may be larger than the limit for reading ahead.
                self.spool.unbounded = True
                self.spool.lock.notify_all()
                self._drop_delivered()
                self.spool.lock.wait(0.2)
            if next_question.is_over:
                next_question.restart()
                self.reader.ask_position()

    def acknowledge(self, place: int) -> None:
        """Acknowledge everything up to `place` to the database (Invariant 1)."""
        if self._options.acknowledges:
            self._unacknowledged.acknowledge(place)
            self.reader.acknowledge(place)

    def head(self) -> int:
        """Return the last reported end of the log; the rows before it are visible to queries."""
        return self.receiver.received.head

    def has_read(self, place: int) -> bool:
        """See ReadLog."""
        if self.receiver.received.complete >= place:
            return True
        self.reader.ask_position()
        return False

    def close(self) -> None:
        """Close the stream and drop the spool."""
        self.receiver.close()
        if self._inserter is not None:
            self._inserter.close()
        self.spool.clear()
        for plan in self._plans:
            plan.drop()
        self._plans.clear()
