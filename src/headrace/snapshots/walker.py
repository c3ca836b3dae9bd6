"""Divides the tables of a snapshot into chunks, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.signals.stored import number, reading
from headrace.snapshots.chunks import (
    Bound,
    Chunk,
    ChunkKind,
    bound_from_json,
    bound_to_json,
)
from headrace.snapshots.snapshot_source import SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable

_UNKNOWN_ROW_BYTES = 200


class Walker:
    """Continues at the place in an offset: in the table with the number `table`, at `place` within
    it."""

    def __init__(
        self,
        source: SnapshotSource[Any, Any],
        tables: Sequence[SnapshotTable],
        table: int,
        place: Mapping[str, Any] | None,
        rows_per_chunk: Callable[[Leaf], int],
    ) -> None:
        self._source, self._tables, self._rows_per_chunk = source, tables, rows_per_chunk
        self.table = table
        place = place or {"leaf": 0, "lower": None, "ordinal": 0}
        with reading(place):
            self._leaf = number(place, "leaf")
            self._lower: Bound | None = bound_from_json(place["lower"])
            self._ordinal = number(place, "ordinal")
            if not self.finished and self._leaf >= len(tables[table].leaves):
                raise ValueError(f"there is no leaf {self._leaf}")
        self.row_bytes = _UNKNOWN_ROW_BYTES
        """Bytes of a row of the last chunk, by the pages of its table."""
        self.chunk_rows = 1
        """The most rows of a chunk of that table."""

    @property
    def finished(self) -> bool:
        """Whether the last table was divided to its end."""
        return self.table >= len(self._tables)

    @property
    def place(self) -> dict[str, Any]:
        """The place at which the next chunk begins in its table, as in an offset."""
        return {"leaf": self._leaf, "lower": bound_to_json(self._lower), "ordinal": self._ordinal}

    def next(self) -> Chunk | None:
        """Return the next chunk; None if it is `finished`."""
        if self.finished:
            return None
        table = self._tables[self.table]
        leaf = table.leaves[self._leaf]
        self.chunk_rows = self._rows_per_chunk(leaf)
        self.row_bytes = self._row_bytes(leaf)
        upper = self._upper(table, leaf)
        begins = self._leaf == 0 and self._lower is None
        ends = upper is None and self._leaf == len(table.leaves) - 1
        is_last = self.table == len(self._tables) - 1
        chunk = Chunk(
            self.table,
            self._ordinal,
            table.kind,
            self._leaf,
            self._lower,
            upper,
            _marker(applies=begins, of_run=table.opens),
            _marker(applies=ends, of_run=is_last),
            min(self.chunk_rows, leaf.rows) if leaf.rows > 0 else self.chunk_rows,
        )
        self._ordinal += 1
        self._lower = upper
        if upper is None:
            self._leaf += 1
            if self._leaf == len(table.leaves):
                self.table, self._leaf = self.table + 1, 0
        return chunk

    def _row_bytes(self, leaf: Leaf) -> int:
        if leaf.rows <= 0:
            return _UNKNOWN_ROW_BYTES
        return max(1, max(leaf.pages, 1) * self._source.page_bytes // leaf.rows)

    def _upper(self, table: SnapshotTable, leaf: Leaf) -> Bound | None:
        match table.kind:
            case ChunkKind.WHOLE:
                return None
            case ChunkKind.KEY:
                lower = self._lower if isinstance(self._lower, tuple) else None
                return self._source.next_bound(table, leaf, lower, self.chunk_rows)
        pages = max(1, self.chunk_rows * self.row_bytes // self._source.page_bytes)
        upper = (self._lower if isinstance(self._lower, int) else 0) + pages
        return upper if upper < leaf.pages else None


def _marker(*, applies: bool, of_run: bool) -> str:
    if not applies:
        return ""
    return "run" if of_run else "table"
