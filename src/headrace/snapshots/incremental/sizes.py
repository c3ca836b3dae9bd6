"""The number of rows in an incremental chunk, and of the chunks that are read in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.config.properties.connector import ConnectorConfig
from headrace.signals.progress import Pending
from headrace.snapshots.incremental.rows import ReadChunk

_WINDOW_READ_SECONDS = 0.2
"""Target time for reading the chunks of a window, in seconds; the log's records wait meanwhile."""
_LARGEST_ROWS = 1 << 20
_LARGEST_GROWTH = 4.0


class ChunkSizes:
    """Sizes that adapt to the time and the bytes of the previous chunks. Every table begins with
    `first` rows, every snapshot with one chunk at a time."""

    def __init__(self, first: int, *, adapts: bool, lanes: int, max_bytes: int) -> None:
        self._first, self._adapts, self._lanes = first, adapts, lanes
        self.chunk_bytes = max(1, max_bytes // lanes)
        """The most bytes of images in a chunk; a chunk of one row may be larger."""
        self._table: Pending | None = None
        self._rows = first
        self.parallel_chunks = 1
        self.is_debezium_sized = False
        """Whether each window has one chunk of Debezium's size, so that its watermarks in the log
        equal Debezium's."""

    @staticmethod
    def of(config: ConnectorConfig) -> ChunkSizes:
        """Return the sizes for the properties; a size that the user set is kept."""
        if config.headrace_compatibility == "debezium-3.6":
            sizes = ChunkSizes(
                config.incremental_snapshot_chunk_size,
                adapts=False,
                lanes=1,
                max_bytes=config.headrace_range_max_bytes,
            )
            sizes.is_debezium_sized = True
            return sizes
        adapts = config.headrace_incremental_snapshot_adaptive and not config.is_set(
            "incremental.snapshot.chunk.size"
        )
        range_bytes = config.headrace_range_max_bytes
        return ChunkSizes(
            config.incremental_snapshot_chunk_size,
            adapts=adapts,
            lanes=config.headrace_incremental_snapshot_threads,
            # If chunks adapt, several windows may close in a range: each has a quarter of it.
            max_bytes=range_bytes // 4 if adapts else range_bytes,
        )

    def rows(self, table: Pending, row_bytes: Callable[[], float | None]) -> int:
        """Return the number of rows of the next chunk of a table. `row_bytes` returns the width of
        a row by the server's statistics, or None; it is called if no chunk of the table was read
        yet."""
        if table == self._table:
            return self._rows
        width = row_bytes() if self._adapts else None
        if width is None:
            return self._first
        return max(1, min(self._first, int(self.chunk_bytes / max(width, 1.0))))

    def reset(self) -> None:
        """Return to the first size, because no snapshot is in progress."""
        self._table, self._rows, self.parallel_chunks = None, self._first, 1

    def adapt(self, seconds: float, chunks: Sequence[ReadChunk]) -> None:
        """Adapt to the `seconds` that reading these chunks took."""
        filled = [chunk for chunk in chunks if chunk.rows is not None]
        # If the limit of bytes cut a chunk, the rows after the cut are read once more.
        cut = any(chunk.rows is not None and chunk.rows.cut for chunk in filled)
        self.parallel_chunks = 1 if cut else min(self.parallel_chunks * 2, self._lanes)
        if not filled or not self._adapts:
            return
        last = filled[-1]
        size = self._rows if last.table == self._table else self._first
        if last.done is not None:
            return  # the next table begins with its own size
        # Never below the first size for being slow: costs that do not depend on the size, such as a
        # sort without an index, would only occur more often.
        factor = _WINDOW_READ_SECONDS / max(seconds, 1e-3)
        fast = max(size * min(max(factor, 0.5), _LARGEST_GROWTH), self._first)
        read = [chunk.rows for chunk in filled if chunk.table == last.table and chunk.rows]
        bytes_per_row = sum(len(rows.images) for rows in read) / sum(len(rows) for rows in read)
        room = self.chunk_bytes / max(bytes_per_row, 1.0)
        self._table, self._rows = last.table, max(1, int(min(fast, room, _LARGEST_ROWS)))
