"""Rows that incremental chunks read, until their window closes."""

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
"""What a key shows in one column, quotes left out; None is JSON's null."""


class KeyColumns(Protocol):
    """The columns that make the key of a collection's records."""

    def key(self, cells: Sequence[bytes | None], unavailable: bytes, /) -> tuple[KeyText, ...]:
        """What the key of a row with these cells shows; a cell that is the object `unavailable`
        is one that the log does not tell."""
        ...


class KeyRendering(Protocol):
    """How the keys of records are rendered: two rows are the same when their keys show the same."""

    def columns(self, facts: Facts, /) -> KeyColumns:
        """The key columns of a collection."""
        ...


@dataclass
class ChunkRows:
    """Rows as a chunk query gave them: images (PADDING readable bytes after them, which are not
    part of the array), offsets (one more than rows), hashes of keys, and how keys are rendered.
    `cut`: the limit of bytes left rows out after them."""

    facts: Facts
    images: np.ndarray
    offsets: np.ndarray
    hashes: np.ndarray
    rendering: KeyRendering
    cut: bool = False

    def __len__(self) -> int:
        return len(self.hashes)

    def __getitem__(self, kept: np.ndarray) -> ChunkRows:
        """The rows that the mask `kept` has."""
        sizes = np.diff(self.offsets)
        images = self.images[np.repeat(kept, sizes)]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[kept], dtype=np.int64)])
        return ChunkRows(self.facts, images, offsets, self.hashes[kept], self.rendering)

    def cells(self, row: int) -> list[bytes | None]:
        """The cells of a row."""
        start, end = int(self.offsets[row]), int(self.offsets[row + 1])
        return cells(self.images[start:end].data)

    def last_key(self, columns: Sequence[str]) -> Key:
        """The values of `columns` in the last row, as text."""
        names, values = self.facts.cell_names, self.cells(len(self) - 1)
        texts = (values[names.index(name)] for name in columns)
        return tuple(None if text is None else text.decode() for text in texts)


@dataclass(frozen=True)
class ReadChunk:
    """Rows of `table` with the bounds (lower, upper], the snapshot they were read on, and when
    (microseconds since 1970); None where no row is. `maximum` is the table's largest key, `parts`
    are the ids by which the log truncates the table and its partitions. `done`: nothing is left
    behind it, and Debezium's word for how the table ended. `order` is that of the bounds (see
    `snapshots.incremental.source.Target`)."""

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
