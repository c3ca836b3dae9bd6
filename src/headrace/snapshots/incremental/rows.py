"""Rows of incremental chunks, until their window closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headrace.connect.images import cells
from headrace.signals.progress import Key, Pending
from headrace.snapshots.incremental.visibility import Visibility
from headrace.snapshots.tables import TableId
from headrace.streaming.facts import Facts

KeyText = bytes | None
"""The text of a key in one column, without quotes; None is JSON's null."""


class ChunkKey(Protocol):
    """The columns that make the key of a collection's records."""

    def key(self, cells: Sequence[bytes | None], unavailable: bytes, /) -> tuple[KeyText, ...]:
        """Return the key of a row with these cells; a cell that is the object `unavailable` is not
        in the log."""
        ...


class ChunkKeyRendering(Protocol):
    """The rendering of keys: two rows are the same if their keys are rendered alike."""

    def columns(self, facts: Facts, /) -> ChunkKey:
        """Return the key columns of a collection."""
        ...


@dataclass
class ChunkRows:
    """The rows of a chunk query: images (PADDING bytes after them are readable, but not part of the
    array), offsets (one more than rows), hashes of keys, and how keys are rendered. `cut`: the
    limit of bytes left out rows after them."""

    facts: Facts
    images: np.ndarray
    offsets: np.ndarray
    hashes: np.ndarray
    rendering: ChunkKeyRendering
    cut: bool = False

    def __len__(self) -> int:
        return len(self.hashes)

    def __getitem__(self, mask: np.ndarray) -> ChunkRows:
        """Return the rows of `mask`."""
        sizes = np.diff(self.offsets)
        images = self.images[np.repeat(mask, sizes)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[mask], dtype=np.int64)])
        return ChunkRows(self.facts, images, offsets, self.hashes[mask], self.rendering)

    def cells(self, row: int) -> list[bytes | None]:
        """Return the cells of a row."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        return cells(self.images[start:end].data)

    def last_key(self, columns: Sequence[str]) -> Key:
        """Return the values of `columns` in the last row, as text."""
        names, values = self.facts.cell_names, self.cells(len(self) - 1)
        texts = (values[names.index(name)] for name in columns)
        return tuple(None if text is None else text.decode() for text in texts)


@dataclass(frozen=True)
class ReadChunk:
    """Rows of `table` with the bounds (lower, upper], the visibility of their snapshot, and its
    time (microseconds since 1970). `rows` is None if the chunk is empty. `maximum` is the table's
    largest key, `parts` are the ids by which the log truncates the table and its partitions.
    `done`: nothing is left after it; Debezium's status of the table. `order` is that of the bounds
    (see `snapshots.incremental.source.Target`)."""

    table: Pending
    rows: ChunkRows | None
    visibility: Visibility
    taken_us: int
    lower: Key | None = None
    upper: Key | None = None
    maximum: Key | None = None
    parts: frozenset[TableId] = frozenset()
    done: str | None = None
    order: str | None = None
