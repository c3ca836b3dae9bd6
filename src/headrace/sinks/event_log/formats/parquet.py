"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.rows import NULL
from headrace.sinks.event_log.formats.file_format import (
    FileFormat,
    LogFile,
    Piece,
    cut,
    sequence_of,
)
from headrace.sinks.event_log.options import Limits

_COLUMNS = ("topic", "key", "value", "headers", "sequence")
_TIME = pa.timestamp("us", "UTC")
_ROW_GROUP = 16 << 20
_OF_FOOTER = 1500
"""The approximate maximum bytes that a row group adds to the footer."""
_FRAME = 160
"""The approximate maximum bytes of a record without its key, value and headers."""


def event_batch(batch: pa.RecordBatch, commit_us: np.ndarray) -> pa.RecordBatch:
    """The columns of events: topic, key, value, headers, sequence and commit_time."""
    columns = [batch.column(name) for name in _COLUMNS]
    fields = [batch.schema.field(name) for name in _COLUMNS]
    times = pa.array(commit_us, pa.int64(), mask=commit_us == NULL).cast(_TIME)
    schema = pa.schema([*fields, pa.field("commit_time", _TIME)])
    return pa.RecordBatch.from_arrays([*columns, times], schema=schema)


class Parquet(FileFormat):
    """Parquet files. Keys and values are strings, or bytes if the converter makes bytes."""

    extension = ".parquet"

    def __init__(self, compression: str, limits: Limits) -> None:
        self._compression, self._limits = compression, limits

    def pieces(self, batch: pa.RecordBatch, commit_us: np.ndarray) -> Iterator[Piece]:
        """See FileFormat."""
        events = event_batch(batch, commit_us)
        schema = events.schema.serialize().to_pybytes()
        for first, last in cut(np.cumsum(_sizes(batch)), self._limits):
            # A copy, because the memory of the batch is reused.
            packed = events.slice(first, last - first).serialize()
            piece = pa.ipc.read_record_batch(packed, events.schema)
            yield Piece(piece, last - first, piece.nbytes, sequence_of(batch, first), schema)

    def open(self, path: Path, schema: bytes) -> LogFile:
        """See FileFormat."""
        return _ParquetFile(path, _read_schema(schema), self._compression, self._limits)

    def schema_of(self, path: Path) -> bytes:
        """See FileFormat."""
        import pyarrow.parquet as pq

        schema: bytes = pq.read_schema(path).serialize().to_pybytes()
        return schema

    def merge(self, sources: Sequence[Path], target: Path) -> None:
        """See FileFormat. Holds one row group in memory."""
        import pyarrow.parquet as pq

        schema = pq.read_schema(sources[0])
        merged = _ParquetFile(target, schema, self._compression, self._limits)
        try:
            for source in sources:
                with pq.ParquetFile(source) as file:
                    for batch in file.iter_batches():
                        merged.append(Piece(batch, batch.num_rows, batch.nbytes, ""))
        except BaseException:
            merged.abort()
            raise
        merged.close()


class _ParquetFile(LogFile):
    """A file of row groups of at least a minimum size, except for the last one."""

    def __init__(self, path: Path, schema: pa.Schema, compression: str, limits: Limits) -> None:
        import pyarrow.parquet as pq

        self._row_group = min(_ROW_GROUP, max(1, limits.bytes // 8))
        self._held = list[pa.RecordBatch]()
        self._held_bytes = 0
        self._groups = 1
        self._sink = pa.OSFile(str(path), "wb")
        self._writer: Any = pq.ParquetWriter(
            self._sink,
            schema,
            compression=compression,
            use_dictionary=["topic", "headers.list.element.key"],
            write_statistics=["topic", "key", "sequence", "commit_time"],
        )

    @property
    def size(self) -> int:
        """See LogFile."""
        return int(self._sink.tell()) + self._held_bytes + self._groups * _OF_FOOTER

    @property
    def held(self) -> int:
        """See LogFile."""
        return self._held_bytes

    def append(self, piece: Piece) -> None:
        """See LogFile."""
        self._held.append(piece.content)
        self._held_bytes += piece.size
        if self._held_bytes >= self._row_group:
            self.flush()

    def flush(self) -> None:
        """See LogFile."""
        if self._held:
            table = pa.Table.from_batches(self._held)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self._held.clear()
            self._held_bytes = 0
            self._groups += 1

    def close(self) -> None:
        """See LogFile."""
        try:
            self.flush()
            self._writer.close()
        finally:
            self._sink.close()

    def abort(self) -> None:
        """See LogFile."""
        self._held.clear()
        self._writer.is_open = False  # otherwise its finalizer would write a footer
        self._sink.close()


def _read_schema(packed: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(packed))


def _sizes(batch: pa.RecordBatch) -> np.ndarray:
    """The approximate bytes of each record."""
    sizes = np.full(batch.num_rows, _FRAME, np.int64)
    for name in ("key", "value"):
        lengths = pc.fill_null(pc.binary_length(batch.column(name)), 0)
        sizes += lengths.to_numpy(zero_copy_only=False)
    return sizes
