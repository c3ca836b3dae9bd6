"""Streaming: a receiver, its spool, and ranges of what they hold."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from headrace.connect.rows import NULL, ORDER, ROW, TRANSACTION
from headrace.connectors.connector import Plan, Slice
from headrace.connectors.metrics import StreamingMetrics
from headrace.connectors.postgresql import decoder
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.events import EventSettings
from headrace.connectors.postgresql.images import image_in
from headrace.connectors.postgresql.inserts import merge, merge_orders, places_of
from headrace.connectors.postgresql.log import Stream
from headrace.connectors.postgresql.offset import Offset, format_lsn
from headrace.connectors.postgresql.places import Stretch
from headrace.connectors.postgresql.ranges import Limit, find_end, rows_until
from headrace.connectors.postgresql.receiver import Receiver
from headrace.connectors.postgresql.relations import Relations
from headrace.connectors.postgresql.signals import Signals
from headrace.connectors.postgresql.slices import LogSlice
from headrace.connectors.transaction_counts import TransactionCounts
from headrace.errors import HeadraceError
from headrace.spool.extract import Inline, InMemory, SegmentPart, pack_inline, relocate, write_plan
from headrace.spool.segment import SEGMENT_BYTES, Segment
from headrace.spool.spool import Piece, Spool

SLICE_BYTES = 2 << 20
"""Log bytes that are worth a task of their own."""
INLINE_SLICE_BYTES = 8 << 20
"""Most bytes that a slice may carry to another host."""
WINDOW_SECONDS = 0.5
"""How long a range waits for the windows of further chunks."""


class Streaming:
    """The log from one position on. One thread calls it; the receiver has its own."""

    def __init__(
        self,
        open_stream: Callable[[], Stream],
        relations: Relations,
        start: Offset,
        *,
        limit: Limit,
        plan: Plan,
        spool_bytes: int,
        options: int,
        skip_truncate: bool,
        status_seconds: float,
        acknowledge_seconds: float,
        acknowledges: bool,
        inline: bool,
        orphaned: Callable[[], bool],
        metrics: StreamingMetrics,
        signals: Signals | None = None,
        counts: TransactionCounts | None = None,
        lookups: PostgresConfig | None = None,
    ) -> None:
        """`lookups`: how tasks connect to read rows again, when a post-processor does."""
        self.start = start
        self._metrics = metrics
        self._unacknowledged: deque[tuple[int, int]] = deque()
        self._signals = signals
        self.relations = relations
        self._plan = plan
        self._limit = limit
        if inline:
            most = min(limit.max_bytes, plan.slices * INLINE_SLICE_BYTES)
            self._limit = replace(limit, max_bytes=most)
        self._left = self._limit
        self._found = (0, 0)
        self._inline = inline
        self._lookups = lookups
        self._acknowledge_seconds = acknowledge_seconds
        self._idle_since = time.monotonic()
        self._acknowledges = acknowledges
        self._plans: list[Segment] = []
        least = 3 * max(self._limit.max_bytes, SEGMENT_BYTES)
        self.spool = Spool(decoder.END, max(spool_bytes, least))
        self.receiver = Receiver(
            open_stream,
            self.spool,
            relations,
            start,
            options=options,
            skip_truncate=skip_truncate,
            status_seconds=status_seconds,
            acknowledged=start.lsn_commit if acknowledges else 0,
            orphaned=orphaned,
            counts=counts,
        )
        self._counts = counts
        if signals is not None:
            signals.truncates = self.receiver.truncates
            self.receiver.watches_truncates = True
        self.receiver.start()

    def poll(
        self, after: Offset, seconds: float, target: int | None, *, moves: bool = False
    ) -> Offset:
        """The end of the next range, or `after` when nothing comes within `seconds`; then the
        position is moved to where the log is, if it `moves`.

        With a `target` LSN (availableNow), `after` is only returned when the stream has passed
        it (Invariant: a bounded query never ends before its target).
        """
        self._drop(after)
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
                if room <= 0 or 0 < most <= rows:
                    break
                self._left = Limit(room, most and most - rows)
                further = self._poll(end, deadline - time.monotonic(), target, signals.towards)
                if further == end and signals.towards is None:
                    break
                self._pass(end, further)
                end = further
                size, rows = size + self._found[0], rows + self._found[1]
        finally:
            self._left = self._limit
        return signals.end(after, self._cut(end, size + signals.size))

    def _pass(self, start: Offset, end: Offset) -> None:
        """Let the signals see the rows of (start, end]."""
        assert self._signals is not None
        parts = self._parts(start, end)
        pieces = [piece for piece, _, _ in parts]
        for _, rows, transactions in parts:
            self._signals.passed(
                Stretch(
                    rows,
                    transactions,
                    lambda index: self.relations.facts[index],
                    lambda address: image_in(pieces, address),
                )
            )
        self._signals.reached(end)

    def _poll(
        self,
        after: Offset,
        seconds: float,
        target: int | None,
        towards: int | None = None,
        *,
        moves: bool = False,
    ) -> Offset:
        """As `poll`. The position also moves `towards` an LSN without any record."""
        deadline = time.monotonic() + seconds
        asked = 0.0
        while True:
            with self.spool.lock:
                self._raise_error()
                end = self._next_end(after, towards if target is None else target)
                if end is not None:
                    self._idle_since = time.monotonic()
                    return end
                complete = self.receiver.complete()
                now = time.monotonic()
                if towards is not None and complete < towards and now - asked > 0.2:
                    asked = now
                    self.receiver.ask_position()
                if target is None:
                    if now >= deadline:
                        return self._moved(after) if moves else after
                elif complete >= target:
                    return after
                elif now - asked > 0.5:
                    asked = now
                    self.receiver.ask_position()
                self.spool.lock.wait(min(max(deadline - now, 0.01), 0.5))

    def _next_end(self, after: Offset, target: int | None) -> Offset | None:
        found = find_end(self.spool.pieces, after, self._left, cut_open=self.receiver.blocked)
        self._found = (0, 0) if found is None else (found.bytes, found.rows)
        complete, is_open = self.receiver.complete(), self.receiver.is_open()
        if found is not None:
            end = self._cut(found.offset, found.bytes)
            rest = any(
                rows_until(piece.index.rows_now(), end) < piece.index.row_count
                for piece in self.spool.pieces[-3:]
            )
            if end.txn is None and not rest and not is_open and complete > end.lsn_commit:
                moved = self.receiver.after_complete(end)
                end = replace(moved, slices=end.slices)
            return end
        # Nothing captured came, but the position may have moved: an empty range, now and then.
        idle = time.monotonic() - self._idle_since >= self._acknowledge_seconds
        if idle or (target is not None and complete >= target):
            moved = self._moved(after)
            return None if moved is after else moved
        return None

    def _moved(self, after: Offset) -> Offset:
        """`after`, behind which no row is, moved to where the log is; itself when it is there."""
        complete, is_open = self.receiver.complete(), self.receiver.is_open()
        if after.txn is not None or is_open or complete <= after.lsn_commit:
            return after
        return self._cut(self.receiver.after_complete(after), 0)

    def _cut(self, end: Offset, size: int) -> Offset:
        wanted = -(-size // SLICE_BYTES)
        if self._inline:
            wanted = max(wanted, -(-size // INLINE_SLICE_BYTES))
        slices = max(1, min(self._plan.slices, wanted))
        return replace(end, slices=slices, order=self._plan.order, consistent=end.consistent)

    def _raise_error(self) -> None:
        if self.receiver.error is not None:
            raise self.receiver.error

    def _drop(self, delivered: Offset) -> None:
        def is_done(piece: Piece) -> bool:
            rows = piece.index.rows_now()
            return rows_until(rows, delivered) == len(rows)

        self.spool.drop(is_done)
        # Ranges follow one another, so whatever was planned before is done.
        for plan in self._plans:
            plan.drop()
        self._plans.clear()

    def slices(self, start: Offset, end: Offset, settings: EventSettings) -> list[Slice]:
        """Slices of (start, end]; waits until all of it was received (a range that is planned
        again after a restart comes from the server once more)."""
        self._await(end)
        parts = self._parts(start, end)
        inserts = end.signals.inserts if end.signals is not None else ()
        if not parts and not inserts:
            return []
        rows, transactions = _joined(parts)
        transactions["xmin"] = NULL if end.xmin is None else end.xmin
        orders = self._orders(start, end)
        segments = [piece.segment for piece, _, _ in parts]
        if self._counts is not None and orders is not None:
            segments += self._write_endings(self._counts, parts, rows, orders)
        if len(rows):
            self._planned(rows, transactions, end)
        relations = {int(i): self.relations.facts[int(i)] for i in np.unique(rows["relation"])}
        if inserts and self._signals is not None:
            blocks = [self._signals.block(insert) for insert in inserts]
            beside = self.spool.reserve(max(1, sum(len(block.images) for block in blocks)))
            self._plans.append(beside)
            places = places_of(rows, blocks)
            rows, transactions, relations = merge(
                rows, transactions, relations, blocks, places, beside
            )
            if orders is not None:
                orders = merge_orders(orders, blocks, places)
            segments.append(beside)
        bounds = self._bounds(rows, end)

        def made(data: InMemory | Inline, first: int, last: int, count: int, number: int) -> Slice:
            again = any(facts.lookup is not None for facts in relations.values())
            lookups = self._lookups if again else None
            return LogSlice(
                data, first, last, count, number, end.epoch, relations, settings, lookups
            )

        if self._inline:
            return self._inline_slices(segments, rows, transactions, orders, bounds, end, made)
        plan = write_plan([rows], [transactions], [] if orders is None else [orders])
        self._plans.append(plan)
        data = InMemory(
            plan.path,
            len(rows),
            len(transactions),
            tuple(SegmentPart(s.path, s.start, s.end) for s in segments),
            counted=orders is not None,
        )
        if end.order == "position":
            return [made(data, a, b, 1, 0) for a, b in bounds]
        return [made(data, 0, len(rows), end.slices, i) for i in range(end.slices)]

    def _planned(self, rows: np.ndarray, transactions: np.ndarray, end: Offset) -> None:
        facts = self.relations.facts
        topics = {int(rows["relation"][-1]): facts[int(rows["relation"][-1])].topic}
        inside = end.txn is not None
        self._metrics.saw(rows, transactions, topics, ends_inside=inside)
        begins_us = int(transactions["commit_us"][rows["transaction"][0]])
        upto = int(rows["position"][-1]) + 1 if inside else end.lsn_commit
        if not self._unacknowledged or self._unacknowledged[-1][0] < upto:
            self._unacknowledged.append((upto, begins_us))

    def oldest_unacknowledged(self) -> int | None:
        """Commit time (µs) of the oldest change that is not acknowledged yet; None: there is
        none. Planned ranges first, then what the spool holds."""
        waiting = self._unacknowledged
        while waiting and waiting[0][0] <= self.receiver.acknowledged:
            waiting.popleft()
        if waiting:
            return waiting[0][1]
        with self.spool.lock:
            for piece in self.spool.pieces:
                known = piece.index.transactions_now()
                known = known[known["final_lsn"] >= self.receiver.acknowledged]
                if len(known):
                    return int(known["commit_us"][0])
        return None

    def queue_bytes(self) -> tuple[int, int]:
        """Log bytes that the spool holds, and may hold."""
        with self.spool.lock:
            return sum(piece.written for piece in self.spool.pieces), self.spool.max_bytes

    def filtered(self) -> int:
        """Row changes that made no record: of other tables, or of skipped operations."""
        return int(self.receiver.state[decoder.FILTERED])

    def _parts(self, start: Offset, end: Offset) -> list[tuple[Piece, np.ndarray, np.ndarray]]:
        """Pieces of the spool with the rows of (start, end], and the pieces' transactions."""
        parts = []
        with self.spool.lock:
            for piece in self.spool.pieces:
                rows = piece.index.rows_now()
                first, last = rows_until(rows, start), rows_until(rows, end)
                if last > first:
                    parts.append((piece, rows[first:last], piece.index.transactions_now()))
        return parts

    def _orders(self, start: Offset, end: Offset) -> np.ndarray | None:
        """Of the rows of (start, end], where transactions are counted."""
        if self._counts is None:
            return None
        found = [np.zeros(0, ORDER)]
        with self.spool.lock:
            for piece in self.spool.pieces:
                rows = piece.index.rows_now()
                first, last = rows_until(rows, start), rows_until(rows, end)
                found.append(piece.index.orders_now()[first:last])
        return np.concatenate(found)

    def _write_endings(
        self,
        counts: TransactionCounts,
        parts: list[tuple[Piece, np.ndarray, np.ndarray]],
        rows: np.ndarray,
        orders: np.ndarray,
    ) -> list[Segment]:
        """What the ENDs of transactions among `rows` say, in memory of their own."""
        ends = np.cumsum([len(part) for _, part, _ in parts])
        mine = [
            (piece.index, rows[end - len(part) : end], orders[end - len(part) : end])
            for (piece, part, _), end in zip(parts, ends, strict=True)
        ]
        size = sum(counts.endings_size(index, part, order) for index, part, order in mine)
        if size == 0:
            return []
        segment = self.spool.reserve(size)
        self._plans.append(segment)
        used = 0
        for index, part, order in mine:
            used = counts.write_endings(index, part, order, segment.array, segment.start, used)
        return [segment]

    def _inline_slices(
        self,
        segments: list[Segment],
        rows: np.ndarray,
        transactions: np.ndarray,
        orders: np.ndarray | None,
        bounds: list[tuple[int, int]],
        end: Offset,
        made: Callable[[Inline, int, int, int, int], Slice],
    ) -> list[Slice]:
        for segment in segments:
            relocate(rows, segment.start, segment.end, segment.base - segment.start)
        chosen: list[slice | np.ndarray]
        if end.order == "position":
            chosen = [slice(a, b) for a, b in bounds]
        else:
            share = rows["hash"] % np.uint64(end.slices)
            chosen = [share == i for i in range(end.slices)]
        found = []
        for mine in chosen:
            part = rows[mine]
            if len(part):
                counted = None if orders is None else orders[mine]
                found.append(made(pack_inline(part, transactions, counted), 0, len(part), 1, 0))
        return found

    def _bounds(self, rows: np.ndarray, end: Offset) -> list[tuple[int, int]]:
        """Contiguous pieces of about the same size."""
        sizes = np.cumsum(rows["size"])
        cuts = [0]
        for i in range(1, end.slices):
            at = int(np.searchsorted(sizes, sizes[-1] * i // end.slices))
            if at > cuts[-1]:
                cuts.append(at)
        cuts.append(len(rows))
        return [(a, b) for a, b in itertools.pairwise(cuts) if b > a]

    def _await(self, end: Offset) -> None:
        waited = time.monotonic()
        while True:
            with self.spool.lock:
                self._raise_error()
                if self._holds(end):
                    self.spool.unbounded = False
                    return
                # A range that is read again may be larger than what may be read ahead.
                self.spool.unbounded = True
                self.spool.lock.notify_all()
                self.spool.lock.wait(0.2)
            if time.monotonic() - waited > 5:
                waited = time.monotonic()
                self.receiver.ask_position()

    def _holds(self, end: Offset) -> bool:
        complete = self.receiver.complete()
        if complete >= end.lsn_commit and end.txn is None:
            return True
        if end.txn is None:
            return False
        return complete > end.txn or self.receiver.in_transaction(end.txn) > end.txn_index

    def acknowledge(self, lsn: int) -> None:
        """Tell the server that everything up to `lsn` may be forgotten (Invariant 1)."""
        if self._acknowledges:
            self.receiver.acknowledged = max(self.receiver.acknowledged, lsn)

    def server_position(self) -> int:
        """The server's WAL position as last heard."""
        return int(self.receiver.state[decoder.WAL_END])

    def close(self) -> None:
        """Close the stream and drop the spool."""
        self.receiver.close()
        if self._signals is not None:
            self._signals.close()
        self.spool.clear()
        for plan in self._plans:
            plan.drop()
        self._plans.clear()


def _joined(
    parts: list[tuple[Piece, np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and transactions of several segments as one table each."""
    if not parts:
        return np.zeros(0, ROW), np.zeros(0, TRANSACTION)
    rows = np.concatenate([part for _, part, _ in parts])
    at = before = 0
    for _, part, transactions in parts:
        rows["transaction"][at : at + len(part)] += before
        at += len(part)
        before += len(transactions)
    return rows, np.concatenate([transactions for _, _, transactions in parts])


def position_text(offset: Offset) -> str:
    """A position for people."""
    if offset.txn is not None:
        return f"{format_lsn(offset.txn)} message {offset.txn_index}"
    return format_lsn(offset.lsn_commit)


def lost_range(start: Offset) -> HeadraceError:
    """The log before `start` was forgotten."""
    return HeadraceError(
        "postgresql.slot_moved",
        f"The slot does not hold the log from {format_lsn(start.lsn_commit)} on any more",
        "Another consumer used the slot, or an older checkpoint was restored. Use another slot, "
        "or start with a new checkpoint and snapshot.",
    )
