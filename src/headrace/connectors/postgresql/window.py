"""Chunks that were read and wait for their window to close, and what the log says of their keys.

A row is dropped when its key has an event inside the window, or one before the window that the
chunk's snapshot does not see: WAL order is not visibility order (docs/decisions/0009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.connect.images import ABSENT, Buffer, cells, is_whole
from headrace.connectors.postgresql.inserts import ChunkRows
from headrace.connectors.postgresql.reading.keeper import parse_xids
from headrace.signals.progress import Key, Pending
from headrace.streaming.facts import Facts
from headrace.streaming.key_columns import KeyColumns, Text


class Snapshot8:
    """A `txid_current_snapshot()`, and 32-bit ids of the log compared with it."""

    def __init__(self, text: str) -> None:
        self.xmin, self.xmax, self.running = parse_xids(text)
        self._running = np.array(sorted(self.running), np.int64)

    def widen(self, xids: np.ndarray) -> np.ndarray:
        """64-bit ids of the log's: those nearest to this snapshot."""
        base = self.xmax & ~0xFFFFFFFF
        wide = base | (xids & 0xFFFFFFFF)
        wide = np.where(wide > self.xmax + (1 << 31), wide - (1 << 32), wide)
        return np.asarray(np.where(wide < self.xmax - (1 << 31), wide + (1 << 32), wide))

    def hides(self, xids: np.ndarray) -> np.ndarray:
        """Mask of the transactions (ids of the log) that it does not see."""
        wide = self.widen(xids)
        return np.asarray((wide >= self.xmax) | np.isin(wide, self._running))


@dataclass(frozen=True)
class Chunk:
    """Rows of `table` with the bounds (lower, upper], the snapshot they were read on, and when;
    None where no row is. `maximum` is the table's largest key, `oids` are the table and its
    partitions. `done`: nothing is left behind it, and Debezium's word for how the table ended."""

    table: Pending
    rows: ChunkRows | None
    seen: Snapshot8
    taken_us: int
    lower: Key | None = None
    upper: Key | None = None
    maximum: Key | None = None
    oids: frozenset[int] = frozenset()
    done: str | None = None


class Window:
    """A chunk that has rows, and what came of its keys since it was read."""

    def __init__(self, chunk: Chunk, rows: ChunkRows) -> None:
        self.chunk, self.rows = chunk, rows
        self.lacking = False
        """A row was dropped for an event that lacks values (unchanged TOAST) and is newer."""
        self._dropped = np.zeros(len(rows), bool)
        self._columns = KeyColumns(rows.facts, rows.rendering)
        self._columns_of: dict[int, tuple[Facts, KeyColumns]] = {}
        """By relation version of the log. They are asked for per row: facts of many columns take
        too long to hash."""
        self._order = np.argsort(rows.hashes, kind="stable")
        self._sorted = rows.hashes[self._order]

    def drop_all(self) -> None:
        """The table was truncated."""
        self._dropped[:] = True

    def kept(self) -> ChunkRows:
        """The rows that nothing newer came for."""
        return self.rows[~self._dropped] if self._dropped.any() else self.rows

    def events(
        self,
        rows: np.ndarray,
        xids: np.ndarray,
        facts: Callable[[int], Facts],
        image: Callable[[int], Buffer],
        *,
        opened: bool,
    ) -> None:
        """The log's rows (of any table) that come next; `xids` are their transactions', `opened`:
        they are inside the window."""
        if not self.rows.facts.key or len(rows) == 0:
            return
        # The chunk may be large and the rows few: no np.isin, which sorts both.
        nearest = np.minimum(np.searchsorted(self._sorted, rows["hash"]), len(self._sorted) - 1)
        mine = self._sorted[nearest] == rows["hash"]
        if not mine.any():
            return
        hidden = self.chunk.seen.hides(xids)
        if not opened:
            mine &= hidden
        for row, unseen in zip(rows[mine], hidden[mine], strict=True):
            found = facts(int(row["relation"]))
            if found.name != self.rows.facts.name or not found.holds_changes:
                continue
            # A hash says where to look; the key itself decides.
            wanted = _event_key(row, self._columns_in(int(row["relation"]), found), image)
            whole = not row["new"] or is_whole(image(int(row["new"])))
            first = int(np.searchsorted(self._sorted, row["hash"], "left"))
            last = int(np.searchsorted(self._sorted, row["hash"], "right"))
            for place in self._order[first:last]:
                if self._key(int(place)) != wanted:
                    continue
                if whole or unseen:
                    self._dropped[place] = True
                    self.lacking |= not whole
                else:
                    # The row is as new as the event, and has the values that the event lacks.
                    self._dropped[place] = False

    def _columns_in(self, relation: int, facts: Facts) -> KeyColumns:
        known = self._columns_of.get(relation)
        if known is None or known[0] is not facts:
            known = facts, KeyColumns(facts, self.rows.rendering)
            self._columns_of[relation] = known
        return known[1]

    def _key(self, row: int) -> tuple[Text, ...]:
        """What the key of a row of the chunk shows."""
        rows = self.rows
        start, end = int(rows.offsets[row]), int(rows.offsets[row + 1])
        return self._columns.key(cells(rows.images[start:end].data), ABSENT)


def row_key(rows: ChunkRows, row: int, columns: Sequence[str]) -> list[bytes | None]:
    """Values of `columns` in a row."""
    names = rows.facts.cell_names
    start, end = int(rows.offsets[row]), int(rows.offsets[row + 1])
    found = cells(rows.images[start:end].data)
    return [found[names.index(name)] for name in columns]


def _event_key(
    row: np.void, columns: KeyColumns, image: Callable[[int], Buffer]
) -> tuple[Text, ...]:
    images = [int(row["new"]), int(row["old"]), int(row["counterpart"])]
    if not images[0]:
        images = images[1:2]
    first, *others = (cells(image(address), unavailable=ABSENT) for address in images if address)
    for other in others:
        # A value that is unavailable in the new image may stand in the old one.
        for place, cell in enumerate(other):
            if first[place] is ABSENT and cell is not None:
                first[place] = cell
    return columns.key(first, ABSENT)


@dataclass
class Wave:
    """Chunks that follow one another, and share a window. `name` is what its watermarks begin
    with; `closes_at` is the LSN where it closes when there are none."""

    name: str
    chunks: list[Chunk]
    opened: bool = False
    closes_at: int | None = None

    def __post_init__(self) -> None:
        self.windows = [None if c.rows is None else Window(c, c.rows) for c in self.chunks]

    def events(
        self,
        rows: np.ndarray,
        xids: np.ndarray,
        facts: Callable[[int], Facts],
        image: Callable[[int], Buffer],
    ) -> None:
        """The log's rows that come next."""
        for window in self.windows:
            if window is not None:
                window.events(rows, xids, facts, image, opened=self.opened)

    def truncated(self, oids: set[int]) -> None:
        """Tables that were truncated before the window closed."""
        for window in self.windows:
            if window is not None and not oids.isdisjoint(window.chunk.oids):
                window.drop_all()
