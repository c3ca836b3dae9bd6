"""Ends of ranges of the log, and the indexed rows in a range. Pure: no connection, no clock.

Order of the log: rows by (position, kind, ordinal); a position inside a transaction says which of
its messages are delivered. A record outside of transactions (kind 1) comes before a transaction at
the same place.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from headrace.connect.rows import RowKind, are_before, place_of
from headrace.offsets.position import Position
from headrace.spool.spool import Piece

P = TypeVar("P", bound=Position)


@dataclass(frozen=True)
class Limit:
    """The size limit of one range: bytes of log, and rows (0: any number)."""

    max_bytes: int
    max_rows: int = 0


def rows_until(rows: np.ndarray, position: Position) -> int:
    """Return how many of `rows` (in log order) are delivered at `position`."""
    if len(rows) == 0 or not _delivered(rows[:1], position)[0]:
        return 0
    if _delivered(rows[-1:], position)[0]:
        return len(rows)
    return bisect_left(
        range(len(rows)), True, key=lambda row: not _delivered(rows[row : row + 1], position)[0]
    )


def is_delivered(piece: Piece, position: Position) -> bool:
    """Return whether a range that begins at `position` needs nothing of `piece`: neither a row nor
    the end of a transaction whose rows are delivered and whose end is not."""
    rows, ends = piece.index.rows_now(), piece.index.ends_now()
    if len(rows) and not _delivered(rows[-1:], position)[0]:
        return False
    return len(ends) == 0 or position.after(ends[-1]).committed <= position.committed


def holds_rows(pieces: Sequence[Piece], position: Position) -> bool:
    """Return whether `pieces` have a row after `position`."""
    for piece in reversed(pieces):
        if piece.index.row_count:
            return not _delivered(piece.index.rows_now()[-1:], position)[0]
    return False


def _delivered(rows: np.ndarray, position: Position) -> np.ndarray:
    committed, transaction = position.committed, position.transaction
    outside = rows["kind"] == RowKind.OUTSIDE
    delivered = are_before(rows, committed)
    delivered |= outside & are_before(rows, committed + 1)
    if transaction is not None:
        delivered |= are_before(rows, transaction)
        of_transaction = are_before(rows, transaction + 1)
        delivered |= of_transaction & (outside | position.has_delivered(rows))
    return np.asarray(delivered)


@dataclass(frozen=True)
class RangeEnd(Generic[P]):
    """A possible end of a range, and the bytes and rows in it."""

    position: P
    bytes: int
    rows: int


@dataclass
class _Part:
    """The undelivered rows of one piece: `first` is the first of them, and `before` the number of
    undelivered rows in the pieces before."""

    piece: Piece
    first: int
    before: int
    count: int = 0

    def rows(self) -> np.ndarray:
        return self.piece.index.rows[self.first : self.first + self.count]


class Backlog(Generic[P]):
    """The rows of a spool that are not delivered at `after`, up to `limit`. It may be called again
    while the spool grows, and then reads only new rows."""

    def __init__(self, after: P, limit: Limit) -> None:
        self.after, self.limit = after, limit
        self._parts: list[_Part] = []
        self._count = 0
        # Cumulative sums of the rows' sizes: arrays, the number of rows before each, and the total.
        self._totals: list[np.ndarray] = []
        self._total_starts: list[int] = []
        self._total = 0

    def end(self, pieces: Sequence[Piece], *, cut_open: bool) -> RangeEnd[P] | None:
        """Return the farthest end within the limit: a commit if one fits, else inside a transaction
        that is larger than the limit (at least one message). None: there are no rows, or, unless
        `cut_open`, only part of a transaction that may still fit.
        """
        self._grow(pieces)
        up_to, more = self._up_to()
        boundary = self._boundary(up_to)
        if boundary is not None:
            count, end = boundary
            return RangeEnd(end, self._bytes_until(count), count)
        if self._count and (more or cut_open):
            count, row = self._cut(up_to)
            inside = self.after.inside(row)
            if inside is not None:
                return RangeEnd(inside, self._bytes_until(count), count)
            self._grow(pieces, beyond_limit=self._next_boundary() is None)
            boundary = self._next_boundary()
            if boundary is not None:
                count, end = boundary
                return RangeEnd(end, self._bytes_until(count), count)
        return None

    def _grow(self, pieces: Sequence[Piece], *, beyond_limit: bool = False) -> None:
        """Read new rows, unless the limit is reached without them."""
        # Pieces without rows may have been dropped meanwhile, and their memory freed.
        places = {id(piece): place for place, piece in enumerate(pieces)}
        self._parts = [part for part in self._parts if id(part.piece) in places]
        first = places[id(self._parts[-1].piece)] if self._parts else 0
        for piece in itertools.islice(pieces, first, None):
            if self.is_full and not beyond_limit:
                return
            rows = piece.index.rows_now()
            if not self._parts or self._parts[-1].piece is not piece:
                self._parts.append(_Part(piece, 0, self._count))
            part = self._parts[-1]
            if part.count == 0:
                part.first = rows_until(rows, self.after)
            new = rows["size"][part.first + part.count :]
            if len(new):
                totals = np.cumsum(new, dtype=np.int64) + self._total
                self._totals.append(totals)
                self._total_starts.append(self._count)
                self._total = int(totals[-1])
                part.count += len(new)
                self._count += len(new)

    @property
    def is_full(self) -> bool:
        """Whether there are more rows than the limit allows for one range."""
        limit = self.limit
        return self._total > limit.max_bytes or 0 < limit.max_rows < self._count

    def _up_to(self) -> tuple[int, bool]:
        """Return how many rows the limit and the next barrier allow, and whether more rows exist
        (or a barrier ends the range)."""
        allowed = self._rows_within(self.limit.max_bytes)
        if self.limit.max_rows:
            allowed = min(allowed, self.limit.max_rows)
        barriers = (
            part.before + barrier - part.first
            for part in self._parts
            for barrier in part.piece.index.barriers
            if barrier >= part.first
        )
        barrier = min((count for count in barriers if count > 0), default=None)
        if barrier is not None and barrier <= allowed:
            return barrier, True
        return allowed, allowed < self._count

    def _rows_within(self, size: int) -> int:
        """Return how many rows have `size` bytes of log or less."""
        array = bisect_right(self._totals, size, key=lambda totals: int(totals[0])) - 1
        if array < 0:
            return 0
        inside = int(np.searchsorted(self._totals[array], size, side="right"))
        return self._total_starts[array] + inside

    def _boundary(self, up_to: int) -> tuple[int, P] | None:
        """Return the last commit with at most `up_to` rows before it."""
        for part in reversed(self._parts):
            if part.before > up_to:
                continue
            ends = part.piece.index.ends_now()
            last = int(np.searchsorted(ends["rows"], up_to - part.before + part.first, "right")) - 1
            if last < 0:
                continue
            end = ends[last]
            count = part.before + int(end["rows"]) - part.first
            position = self.after.after(end)
            if position.committed <= self.after.committed or count < 0:
                return None
            return count, position
        return None

    def _next_boundary(self) -> tuple[int, P] | None:
        """Return the first commit that is not delivered."""
        after = self.after
        for part in self._parts:
            ends = part.piece.index.ends_now()
            first = bisect_right(ends, after.committed, key=lambda end: after.after(end).committed)
            if first < len(ends):
                end = ends[first]
                return part.before + int(end["rows"]) - part.first, after.after(end)
        return None

    def _cut(self, up_to: int) -> tuple[int, np.void]:
        """Return the largest count of rows ≤ `up_to` that does not divide the records of one
        message (if the first message alone is too large: the count after it), and the last row. The
        records of one message are in one piece."""
        up_to = max(up_to, 1)
        parts = [part for part in self._parts if part.count]
        number = bisect_left(parts, up_to, key=lambda part: part.before) - 1
        rows = parts[number].rows()
        count = up_to - parts[number].before
        while 0 < count < len(rows) and _same_message(rows, count - 1, count):
            count -= 1
        if count == 0 and number > 0:
            before = parts[number - 1].rows()
            return parts[number].before, before[-1]
        if count == 0:
            count = 1
            while count < len(rows) and _same_message(rows, count - 1, count):
                count += 1
        return parts[number].before + count, rows[count - 1]

    def _bytes_until(self, count: int) -> int:
        """Return the bytes of log of the first `count` rows."""
        if count == 0:
            return 0
        array = bisect_right(self._total_starts, count - 1) - 1
        return int(self._totals[array][count - 1 - self._total_starts[array]])


def _same_message(rows: np.ndarray, a: int, b: int) -> bool:
    return bool(
        rows["ordinal"][a] == rows["ordinal"][b]
        and place_of(rows[a]) == place_of(rows[b])
        and rows["kind"][a] == rows["kind"][b]
    )
