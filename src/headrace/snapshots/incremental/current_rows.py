"""Current rows of captured tables, read while their log is replicated: what a connector gives to a
comparison of a replica with its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Records, Shape, group_by_shape
from headrace.connect.rows import RowTable, Sequences
from headrace.offsets.offset import Offset, OffsetObject
from headrace.signals.progress import Insert, Pending
from headrace.snapshots.incremental.chunk_source import ChunkSource
from headrace.snapshots.incremental.inserts import chunk_block, transaction_of
from headrace.snapshots.incremental.reader import ChunkReader
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.streaming.facts import EventSettings, shape_of

_SEQUENCES = Sequences(1)
Value = Any
"""A value of a key, in Python, with the type of the replica's column."""


@dataclass(frozen=True)
class CurrentRows:
    """The parts of a connector that read its tables independently of its stream.

    `chunks` reads ranges of keys: each row as of some moment after the range was requested. `place`
    returns a place of the log that is after every change visible before the call; it may wait.
    `read_offset` reads an offset of a query, `place_text` shows a place in the notation of the
    database. `condition` returns the filter of a signal that selects rows by the columns of their
    key and these values; None: it cannot be written. Methods raise HeadraceError.
    """

    chunks: ChunkSource[Any]
    settings: EventSettings
    read_offset: Callable[[OffsetObject], Offset[Any]]
    place: Callable[[], int]
    place_text: Callable[[int], str]
    condition: Callable[[Sequence[str], Sequence[tuple[Value, ...]]], str | None]

    def reader(self) -> ChunkReader[Any]:
        """Return a reader of the tables' chunks."""
        return ChunkReader(self.chunks)

    def slice_of(self, table: Pending, rows: ChunkRows, taken_us: int) -> RowsSlice:
        """Return rows of a chunk as the records that an incremental snapshot makes of them."""
        insert = Insert((1, 0, 1, 0), 0, None, taken_us, table)
        return RowsSlice(insert, rows, self.settings, self.chunks.transaction_image(0, 0))

    def close(self) -> None:
        """Close the connections; never raises."""
        self.chunks.close()


@dataclass(frozen=True)
class RowsSlice:
    """A `headrace.connect.slices.Slice` of rows that were read and have no place in the log."""

    insert: Insert
    rows: ChunkRows
    settings: EventSettings
    transaction: bytes = b""
    sequences: Sequences = _SEQUENCES
    log_bytes: int | None = None

    def shapes(self) -> Iterator[Shape]:
        """See the contract."""
        yield shape_of(self.rows.facts.as_incremental(), self.settings)

    def read(self) -> Iterator[list[Records]]:
        """Yield all records in one piece."""
        block = chunk_block(replace(self.insert, parts=len(self.rows)), self.rows)
        rows = block.rows.copy()
        rows["new"] += address_of(block.images)
        entry = transaction_of(self.insert)
        image = np.frombuffer(self.transaction + bytes(PADDING), np.uint8)
        if self.transaction:
            entry["image"], entry["size"] = address_of(image), len(self.transaction)
        table = RowTable(rows, entry, (block.images, image))
        yield group_by_shape(table, {0: shape_of(block.facts, self.settings)})
