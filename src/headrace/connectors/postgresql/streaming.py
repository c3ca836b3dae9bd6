"""Streaming: a receiver, its spool, and ranges of what they hold."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from headrace.connect.rows import NULL
from headrace.connect.slices import Plan, Slice
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.postgresql.catalog.relations import Relations
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.places import Stretch
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.range_rows import Cutter, PieceRows, RangeRows
from headrace.connectors.postgresql.ranges import (
    Backlog,
    Limit,
    holds_rows,
    is_delivered,
    rows_until,
)
from headrace.connectors.postgresql.signals import Signals
from headrace.connectors.postgresql.slices import FactsPacker
from headrace.spool.segment import SEGMENT_BYTES, Segment
from headrace.spool.spool import Spool, memory_at
from headrace.streaming.counts import TransactionCounts
from headrace.streaming.facts import EventSettings
from headrace.streaming.reader import LogReader
from headrace.streaming.receiver import Receiver

SLICE_BYTES = 2 << 20
"""Log bytes that are worth a task of their own."""
NARROW_ROW_BYTES = 64
"""A range has no more rows than its bytes could hold of this size, unless a limit of rows is set:
the index of narrower ones would be larger than they are."""
INLINE_SLICE_BYTES = 8 << 20
"""Most bytes that a slice may carry to another host."""
WINDOW_SECONDS = 0.5
"""How long a range waits for the windows of further chunks."""


@dataclass(frozen=True)
class StreamOptions:
    """How a log becomes ranges and slices.

    `limit` is of one range, `plan` of its slices. `spool_bytes` is what may be received ahead.
    Without records, the position moves every `acknowledge_seconds`; without `acknowledges`, the
    database is never told to forget. `inline`: slices carry their bytes. `orphaned`: nobody reads
    on. `lookups`: how tasks connect to read rows again, when a post-processor does.
    """

    limit: Limit
    plan: Plan
    spool_bytes: int
    acknowledge_seconds: float
    orphaned: Callable[[], bool]
    acknowledges: bool = True
    inline: bool = False
    lookups: PostgresConfig | None = None

    def range_limit(self) -> Limit:
        """The limit of one range, with a number of rows, and such that its slices can be sent."""
        limit = self.limit
        rows = limit.max_rows or max(1, limit.max_bytes // NARROW_ROW_BYTES)
        size = limit.max_bytes
        if self.inline:
            size = min(size, self.plan.slices * INLINE_SLICE_BYTES)
        return Limit(size, rows)


class Streaming:
    """The log from one position on. One thread calls it; the receiver has its own."""

    def __init__(
        self,
        reader: LogReader,
        relations: Relations,
        start: PostgresOffset,
        options: StreamOptions,
        *,
        metrics: StreamingMetrics,
        signals: Signals | None = None,
        counts: TransactionCounts | None = None,
    ) -> None:
        """`reader` begins at `start`; `relations` are its versions, `metrics` sees the ranges."""
        self.start = start
        self.reader = reader
        self.relations = relations
        self._options = options
        self._metrics = metrics
        self._signals = signals
        self._counts = counts
        self._limit = self._left = options.range_limit()
        self._delivered = start
        self._found = (0, 0)
        self._cutter = Cutter(FactsPacker(relations.facts), options.lookups)
        self._idle_since = time.monotonic()
        self._plans: list[Segment] = []
        self._unacknowledged: deque[tuple[int, int]] = deque()
        self._acknowledged = 0
        self.acknowledge(start.position.committed)
        least = 3 * max(self._limit.max_bytes, SEGMENT_BYTES)
        self.spool = Spool(reader.end_type, max(options.spool_bytes, least))
        self.receiver = Receiver(
            reader,
            self.spool,
            orphaned=options.orphaned,
            counts=counts,
            collections=relations.collections,
        )
        self.receiver.start()

    def poll(
        self, after: PostgresOffset, seconds: float, target: int | None, *, moves: bool = False
    ) -> PostgresOffset:
        """The end of the next range, or `after` when nothing comes within `seconds`; then the
        position is moved to where the log is, if it `moves`.

        With a `target` LSN (availableNow), `after` is only returned when the stream has passed
        it (Invariant: a bounded query never ends before its target).
        """
        self._delivered = after
        self._drop_delivered()
        # Ranges follow one another, so whatever was planned before is done.
        for plan in self._plans:
            plan.drop()
        self._plans.clear()
        signals = self._signals
        if signals is None:
            return self._poll(after, seconds, target, moves=moves)
        signals.begin(after)
        rest = 0 if signals.inserted else seconds
        end = self._poll(after, rest, target, signals.towards, moves=moves)
        self._pass(after, end)
        size, rows = self._found
        most = self._limit.max_rows
        # A window that is open will be closed by the log in a moment: more chunks in one range.
        deadline = time.monotonic() + WINDOW_SECONDS
        try:
            while signals.awaits and signals.inserted and time.monotonic() < deadline:
                room = self._limit.max_bytes - size - signals.size
                if room <= 0 or most <= rows:
                    break
                self._left = Limit(room, most - rows)
                rest = deadline - time.monotonic()
                further = self._poll(end, rest, target, signals.towards, waits=False)
                if further == end and signals.towards is None:
                    break
                self._pass(end, further)
                end = further
                size, rows = size + self._found[0], rows + self._found[1]
        finally:
            self._left = self._limit
        return signals.end(after, self._cut(end, size + signals.size))

    def _pass(self, start: PostgresOffset, end: PostgresOffset) -> None:
        """Let the signals see the rows of (start, end]."""
        assert self._signals is not None
        parts = self._parts(start, end)
        pieces = [part.piece for part in parts]
        for part in parts:
            self._signals.passed(
                Stretch(
                    part.rows,
                    part.transactions,
                    lambda index: self.relations.facts[index],
                    lambda address: memory_at(pieces, address),
                )
            )
        self._signals.reached(end)

    def _poll(
        self,
        after: PostgresOffset,
        seconds: float,
        target: int | None,
        towards: int | None = None,
        *,
        moves: bool = False,
        waits: bool = True,
    ) -> PostgresOffset:
        """As `poll`. The position also moves `towards` an LSN without any record. Unless it
        `waits`, a `target` is not waited for any longer than `seconds`."""
        deadline = time.monotonic() + seconds
        asked = 0.0
        backlog = Backlog(after, self._left)
        while True:
            with self.spool.lock:
                self._raise_error()
                end = self._next_end(backlog, towards if target is None else target)
                if end is not None:
                    self._idle_since = time.monotonic()
                    return end
                complete = self.receiver.received.complete
                now = time.monotonic()
                if towards is not None and complete < towards and now - asked > 0.2:
                    asked = now
                    self.reader.ask_position()
                if target is None or not waits:
                    if now >= deadline:
                        return self._moved(after) if moves else after
                elif complete >= target:
                    return after
                elif now - asked > 0.5:
                    asked = now
                    self.reader.ask_position()
                # The receiver may wait for the room of segments in which nothing is captured.
                self._drop_delivered()
                self.spool.lock.wait(min(max(deadline - now, 0.01), 0.5))

    def _next_end(self, backlog: Backlog, target: int | None) -> PostgresOffset | None:
        after, pieces = backlog.after, self.spool.pieces
        found = backlog.end(pieces, cut_open=self.receiver.blocked)
        self._found = (0, 0) if found is None else (found.bytes, found.rows)
        if found is not None:
            end = self._cut(found.offset, found.bytes)
            if holds_rows(pieces, end):
                return end
            return replace(self._moved(end), slices=end.slices)
        # Nothing captured came, but the position may have moved: an empty range, now and then.
        idle = time.monotonic() - self._idle_since >= self._options.acknowledge_seconds
        if idle or (target is not None and self.receiver.received.complete >= target):
            moved = self._moved(after)
            return None if moved is after else moved
        return None

    def _moved(self, after: PostgresOffset) -> PostgresOffset:
        """`after`, behind which no row is, moved to where the log is; itself when it is there."""
        received, position = self.receiver.received, after.position
        is_open = received.transaction is not None or position.transaction is not None
        if is_open or received.complete <= position.committed:
            return after
        return self._cut(after.at(position.behind(received.end)), 0)

    def _cut(self, end: PostgresOffset, size: int) -> PostgresOffset:
        wanted = -(-size // SLICE_BYTES)
        if self._options.inline:
            wanted = max(wanted, -(-size // INLINE_SLICE_BYTES))
        slices = max(1, min(self._options.plan.slices, wanted))
        return replace(end, slices=slices, order=self._options.plan.order)

    def _raise_error(self) -> None:
        if self.receiver.error is not None:
            raise self.receiver.error

    def _drop_delivered(self) -> None:
        """Give back the segments that no range needs any more."""
        delivered = self._delivered
        self.spool.drop(lambda piece: is_delivered(piece, delivered))

    def slices(
        self, start: PostgresOffset, end: PostgresOffset, settings: EventSettings
    ) -> list[Slice]:
        """Slices of (start, end]; waits until all of it was received (a range that is planned
        again after a restart comes from the server once more)."""
        self._await(start, end)
        parts = self._parts(start, end)
        inserts = end.signals.inserts if end.signals is not None else ()
        if not parts and not inserts:
            return []
        range_rows = RangeRows.of(parts, self.relations.facts, counted=self._counts is not None)
        range_rows.transactions["xmin"] = NULL if end.position.xmin is None else end.position.xmin
        if self._counts is not None:
            self._write_endings(self._counts, parts, range_rows)
        if parts:
            self._planned(range_rows.rows, range_rows.transactions, end)
        if inserts and self._signals is not None:
            blocks = [self._signals.block(insert) for insert in inserts]
            size = sum(len(block.images) for block in blocks)
            range_rows.insert(blocks, self._reserve(max(1, size)))
        if self._options.inline:
            return list(self._cutter.inline(range_rows, end, settings))
        plan, slices = self._cutter.in_memory(range_rows, end, settings)
        self._plans.append(plan)
        return list(slices)

    def _reserve(self, size: int) -> Segment:
        """Memory for images of one range."""
        segment = self.spool.reserve(size)
        self._plans.append(segment)
        return segment

    def _planned(self, rows: np.ndarray, transactions: np.ndarray, end: PostgresOffset) -> None:
        facts = self.relations.facts
        topics = {int(rows["relation"][-1]): facts[int(rows["relation"][-1])].topic}
        inside = end.position.transaction is not None
        self._metrics.saw(rows, transactions, topics, ends_inside=inside)
        begins_us = int(transactions["commit_us"][rows["transaction"][0]])
        upto = int(rows["position"][-1]) + 1 if inside else end.position.committed
        if not self._unacknowledged or self._unacknowledged[-1][0] < upto:
            self._unacknowledged.append((upto, begins_us))

    def oldest_unacknowledged(self) -> int | None:
        """Commit time (µs) of the oldest change that is not acknowledged yet; None: there is
        none. Planned ranges first, then what the spool holds."""
        waiting = self._unacknowledged
        while waiting and waiting[0][0] <= self._acknowledged:
            waiting.popleft()
        if waiting:
            return waiting[0][1]
        with self.spool.lock:
            for piece in self.spool.pieces:
                known = piece.index.transactions_now()
                known = known[known["final_lsn"] >= self._acknowledged]
                if len(known):
                    return int(known["commit_us"][0])
        return None

    def queue_bytes(self) -> tuple[int, int]:
        """Log bytes that the spool holds, and may hold."""
        with self.spool.lock:
            return sum(piece.written for piece in self.spool.pieces), self.spool.max_bytes

    def filtered(self) -> int:
        """Row changes that made no record: of other tables, or of skipped operations."""
        return self.receiver.received.filtered

    def _parts(self, start: PostgresOffset, end: PostgresOffset) -> list[PieceRows]:
        """The rows of (start, end] by piece of the spool."""
        parts = []
        with self.spool.lock:
            for piece in self.spool.pieces:
                rows = piece.index.rows_now()
                first, last = rows_until(rows, start), rows_until(rows, end)
                if last > first:
                    parts.append(PieceRows(piece, first, last))
        return parts

    def _write_endings(
        self, counts: TransactionCounts, parts: list[PieceRows], range_rows: RangeRows
    ) -> None:
        """What the ENDs of transactions among the rows say, in memory of their own."""
        rows, orders = range_rows.rows, range_rows.orders
        assert orders is not None
        ends = np.cumsum([part.last - part.first for part in parts])
        mine = [
            (part.piece.index, rows[end - len(part.rows) : end], orders[end - len(part.rows) : end])
            for part, end in zip(parts, ends, strict=True)
        ]
        size = sum(counts.endings_size(index, part, order) for index, part, order in mine)
        if size == 0:
            return
        segment = self._reserve(size)
        used = 0
        for index, part, order in mine:
            used = counts.write_endings(index, part, order, segment.array, segment.start, used)
        range_rows.segments.append(segment)

    def _await(self, start: PostgresOffset, end: PostgresOffset) -> None:
        self._delivered = start
        waited = time.monotonic()
        while True:
            with self.spool.lock:
                self._raise_error()
                if self.receiver.received.reaches(end.position):
                    self.spool.unbounded = False
                    return
                # A range that is read again may be larger than what may be read ahead.
                self.spool.unbounded = True
                self.spool.lock.notify_all()
                self._drop_delivered()
                self.spool.lock.wait(0.2)
            if time.monotonic() - waited > 5:
                waited = time.monotonic()
                self.reader.ask_position()

    def acknowledge(self, lsn: int) -> None:
        """Tell the server that everything up to `lsn` may be forgotten (Invariant 1)."""
        if self._options.acknowledges:
            self._acknowledged = max(self._acknowledged, lsn)
            self.reader.acknowledge(lsn)

    def server_position(self) -> int:
        """The server's WAL position as last heard; the rows before it can be seen."""
        return self.receiver.received.head

    def close(self) -> None:
        """Close the stream and drop the spool."""
        self.receiver.close()
        if self._signals is not None:
            self._signals.close()
        self.spool.clear()
        for plan in self._plans:
            plan.drop()
        self._plans.clear()
