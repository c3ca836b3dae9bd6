"""Chunks that wait for their window to close, and the log's changes of their keys.

A row is dropped when its key has an event inside the window, or one before the window that the
chunk's snapshot does not see: WAL order is not visibility order (decision 9).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headrace.connect.images import ABSENT, Buffer, cells
from headrace.snapshots.incremental.rows import ChunkKey, ChunkRows, KeyText, ReadChunk
from headrace.snapshots.tables import TableId
from headrace.streaming.facts import Facts


class ChunkWindow:
    """A chunk that has rows, and which of them the log has changed since it was read."""

    def __init__(self, chunk: ReadChunk, rows: ChunkRows) -> None:
        self.chunk, self.rows = chunk, rows
        self.lacking = False
        """Whether a row was dropped for a newer event that lacks values, such as unchanged
        TOAST."""
        self._dropped = np.zeros(len(rows), bool)
        self._columns = rows.rendering.columns(rows.facts)
        self._columns_of: dict[int, tuple[Facts, ChunkKey]] = {}
        """The log's facts and their key columns by relation version. They are looked up per row:
        facts of many columns take too long to hash."""
        self._order = np.argsort(rows.hashes, kind="stable")
        self._sorted = rows.hashes[self._order]

    def drop_all(self) -> None:
        """Drop all rows, because the table was truncated."""
        self._dropped[:] = True

    def kept(self) -> ChunkRows:
        """Return the rows for which the log has no newer event."""
        return self.rows[~self._dropped] if self._dropped.any() else self.rows

    def events(
        self,
        rows: np.ndarray,
        transactions: np.ndarray,
        facts: Callable[[int], Facts],
        image: Callable[[int], Buffer],
        *,
        opened: bool,
    ) -> None:
        """Process the log's next rows (of any table); `transactions` are those that they refer to,
        `opened`: they are inside the window."""
        if not self.rows.facts.key or len(rows) == 0:
            return
        # The chunk may be large and the rows few, so np.isin, which sorts both, is too slow.
        nearest = np.minimum(np.searchsorted(self._sorted, rows["hash"]), len(self._sorted) - 1)
        candidates = rows[self._sorted[nearest] == rows["hash"]]
        if len(candidates) == 0:
            return
        hidden = self.chunk.visibility.hides(candidates, transactions)
        if not opened:
            candidates, hidden = candidates[hidden], hidden[hidden]
        for row, unseen in zip(candidates, hidden, strict=True):
            version = facts(int(row["relation"]))
            if version.name != self.rows.facts.name or not version.holds_changes:
                continue
            # The hash finds candidates; only equal keys count.
            key = _event_key(row, self._columns_in(int(row["relation"]), version), image)
            whole = not row["new"] or version.is_whole(image(int(row["new"])))
            first = int(np.searchsorted(self._sorted, row["hash"], "left"))
            last = int(np.searchsorted(self._sorted, row["hash"], "right"))
            for place in self._order[first:last]:
                if self._key(int(place)) != key:
                    continue
                if whole or unseen:
                    self._dropped[place] = True
                    self.lacking |= not whole
                else:
                    # The row is as new as the event, and has the values that the event lacks.
                    self._dropped[place] = False

    def _columns_in(self, relation: int, facts: Facts) -> ChunkKey:
        entry = self._columns_of.get(relation)
        if entry is None or entry[0] is not facts:
            entry = facts, self.rows.rendering.columns(facts)
            self._columns_of[relation] = entry
        return entry[1]

    def _key(self, row: int) -> tuple[KeyText, ...]:
        """Return the rendered key of a row of the chunk."""
        return self._columns.key(self.rows.cells(row), ABSENT)


def _event_key(
    row: np.void, columns: ChunkKey, image: Callable[[int], Buffer]
) -> tuple[KeyText, ...]:
    images = [int(row["new"]), int(row["old"]), int(row["counterpart"])]
    if not images[0]:
        images = images[1:2]
    first, *others = (cells(image(address), unavailable=ABSENT) for address in images if address)
    for other in others:
        # A value that is unavailable in the new image may be in the old one.
        for place, cell in enumerate(other):
            if first[place] is ABSENT and cell is not None:
                first[place] = cell
    return columns.key(first, ABSENT)


@dataclass
class Wave:
    """Consecutive chunks that share a window. `name` is the beginning of its watermarks;
    `closes_at` is the position of the log where a window without watermarks closes."""

    name: str
    chunks: list[ReadChunk]
    opened: bool = False
    closes_at: int | None = None

    def __post_init__(self) -> None:
        self.windows = [None if c.rows is None else ChunkWindow(c, c.rows) for c in self.chunks]

    def events(
        self,
        rows: np.ndarray,
        transactions: np.ndarray,
        facts: Callable[[int], Facts],
        image: Callable[[int], Buffer],
    ) -> None:
        """Process the log's next rows in every window."""
        for window in self.windows:
            if window is not None:
                window.events(rows, transactions, facts, image, opened=self.opened)

    def truncated(self, parts: set[TableId]) -> None:
        """Drop the rows of tables (see `ReadChunk.parts`) truncated before the window closed."""
        for window in self.windows:
            if window is not None and not parts.isdisjoint(window.chunk.parts):
                window.drop_all()
