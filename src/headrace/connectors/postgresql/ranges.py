"""Where a range of the log ends, and which indexed rows lie in it. Pure: no connection, no clock.

Order of the log: rows by (position, kind, ordinal); a transaction's position is its final LSN, a
non-transactional message's is its own LSN and comes before a transaction at the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.rows import NULL
from headrace.connectors.postgresql.offset import Offset
from headrace.spool.spool import Piece


@dataclass(frozen=True)
class Limit:
    """How much one range may hold: bytes of log, and rows (0: any number)."""

    max_bytes: int
    max_rows: int = 0


def rows_until(rows: np.ndarray, offset: Offset) -> int:
    """How many of `rows` (in log order) are delivered at `offset`."""
    if len(rows) == 0 or not _delivered(rows[:1], offset)[0]:
        return 0
    if _delivered(rows[-1:], offset)[0]:
        return len(rows)
    return int(np.count_nonzero(_delivered(rows, offset)))


def _delivered(rows: np.ndarray, offset: Offset) -> np.ndarray:
    position = rows["position"]
    done = position < offset.lsn_commit
    done |= (position <= offset.lsn_commit) & (rows["kind"] == 1)
    if offset.txn is not None:
        done |= position < offset.txn
        done |= (position == offset.txn) & (
            (rows["kind"] == 1) | (rows["ordinal"] <= offset.txn_index)
        )
    return np.asarray(done)


@dataclass(frozen=True)
class RangeEnd:
    """A possible end of a range, and the bytes and rows in it."""

    offset: Offset
    bytes: int
    rows: int


def find_end(
    pieces: Sequence[Piece], after: Offset, limit: Limit, *, cut_open: bool
) -> RangeEnd | None:
    """The farthest end within `limit`: a commit if one fits, else inside a transaction that is
    larger than the limit (at least one message). None: nothing is there, or, unless `cut_open`,
    only part of a transaction that may still fit.
    """
    stretch = _Stretch(pieces, after, limit)
    upto, more = stretch.upto()
    boundary = stretch.boundary(upto)
    if boundary is not None:
        count, end_lsn, last_commit, commit_us = boundary
        end = after.at_boundary(end_lsn, last_commit, commit_us)
        return RangeEnd(end, stretch.bytes_until(count), count)
    if stretch.count and (more or cut_open):
        count, row = stretch.cut(upto)
        end = after.inside(int(row["position"]), int(row["ordinal"]), int(row["lsn"]))
        return RangeEnd(end, stretch.bytes_until(count), count)
    return None


class _Stretch:
    """The undelivered rows of the spool, counted from `after`, as far as a limit reaches."""

    def __init__(self, pieces: Sequence[Piece], after: Offset, limit: Limit) -> None:
        self.after, self.limit = after, limit
        self.parts: list[tuple[int, np.ndarray]] = []  # rows before the part, its rows
        self.ends: list[tuple[int, int, int, int]] = []
        self.barriers: list[int] = []
        self.count = 0
        sizes = []
        total = 0
        for piece in pieces:
            rows = piece.index.rows_now()
            ends = piece.index.ends_now()
            first = rows_until(rows, after)
            for end in ends[ends["end_lsn"] > after.lsn_commit]:
                at = self.count + int(end["rows"]) - first
                end_lsn, last, commit_us = end["end_lsn"], end["last_commit"], end["commit_us"]
                self.ends.append((at, int(end_lsn), int(last), int(commit_us)))
            self.barriers += [self.count + b - first for b in piece.index.barriers if b > first]
            if first == len(rows):
                continue
            self.parts.append((self.count, rows[first:]))
            sizes.append(rows["size"][first:])
            total += int(sizes[-1].sum())
            self.count += len(rows) - first
            if total > limit.max_bytes or (limit.max_rows and self.count > limit.max_rows):
                break
        self.sizes = np.cumsum(np.concatenate(sizes)) if sizes else np.zeros(0, np.int64)

    def upto(self) -> tuple[int, bool]:
        """How many rows the limit and the next barrier allow, and whether that is less than what
        is there (or a barrier says that the range ends here)."""
        allowed = int(np.searchsorted(self.sizes, self.limit.max_bytes, side="right"))
        if self.limit.max_rows:
            allowed = min(allowed, self.limit.max_rows)
        barrier = min((b for b in self.barriers if b > 0), default=None)
        if barrier is not None and barrier <= allowed:
            return barrier, True
        return allowed, allowed < self.count

    def boundary(self, upto: int) -> tuple[int, int, int | None, int | None] | None:
        """The last commit with at most `upto` rows before it."""
        for count, end_lsn, last, commit_us in reversed(self.ends):
            if 0 <= count <= upto:
                return count, end_lsn, None if last == NULL else last, commit_us or None
        return None

    def cut(self, upto: int) -> tuple[int, np.void]:
        """The largest count of rows ≤ `upto` that does not part the records of one message (when
        the first message alone is too large: the count behind it), and the last row."""
        start, rows = next((s, r) for s, r in reversed(self.parts) if s < max(upto, 1))
        count = max(upto, 1) - start
        while count < len(rows) and count > 0 and _same_message(rows, count - 1, count):
            count -= 1
        if start + count == 0:
            count = 1
            while count < len(rows) and _same_message(rows, count - 1, count):
                count += 1
        return start + count, rows[count - 1]

    def bytes_until(self, count: int) -> int:
        """Bytes of log behind the first `count` rows."""
        return int(self.sizes[count - 1]) if count else 0


def _same_message(rows: np.ndarray, a: int, b: int) -> bool:
    return bool(
        rows["ordinal"][a] == rows["ordinal"][b]
        and rows["position"][a] == rows["position"][b]
        and rows["kind"][a] == rows["kind"][b]
    )
