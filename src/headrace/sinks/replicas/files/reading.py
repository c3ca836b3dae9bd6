"""Reads columns of data files as the table has them now: found by field id, cast to wider types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.data_files import FIELD_ID
from headrace.sinks.replicas.files.s3 import answering

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from headrace.sinks.replicas.lake import Column, DataFile, Storage

_BATCH_BYTES, _LEAST, _MOST = 4 << 20, 16, 2048
"""The approximate size of a batch of rows in a file, and the least and greatest number of its
rows."""


def conformed(
    column: pa.ChunkedArray, kind: pa.DataType, name: str, table: str = ""
) -> pa.ChunkedArray:
    """Cast a column to a type of the table. Raises HeadraceError("replicas.value_not_taken")."""
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowException:
        raise HeadraceError(
            "replicas.value_not_taken",
            f"{table or 'A table'}: the column {name} of type {kind} cannot hold a value of type"
            f" {column.type}",
            "Copy the table again: headrace resync FILE TABLE --checkpoint STATE.",
        ) from None


def _named(stored: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Return a column of a data file with the table's names of members of structs. A cast would
    look for these names in the file, which has others."""
    if stored.type == column.type:
        return stored
    return pa.chunked_array([chunk.view(column.type) for chunk in stored.chunks], column.type)


class DataFileReader:
    """An open data file. Not for several threads."""

    def __init__(self, storage: Storage, file: DataFile) -> None:
        import pyarrow.parquet as pq

        self._storage = storage
        self._file = file
        with answering(file.path):
            self._input = storage.filesystem.open_input_file(file.path)
            self._parquet: pq.ParquetFile = pq.ParquetFile(self._input, pre_buffer=True)
        self._names: dict[int, str] = {}
        for field in self._parquet.schema_arrow:
            if field.metadata and FIELD_ID in field.metadata:
                self._names[int(field.metadata[FIELD_ID])] = field.name
        self._leaves = {
            self._parquet.schema.column(place).path: place
            for place in range(len(self._parquet.schema))
        }

    def __enter__(self) -> DataFileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._parquet.close()
        self._input.close()

    @property
    def group_rows(self) -> list[int]:
        """The number of rows in each row group."""
        metadata = self._parquet.metadata
        return [metadata.row_group(place).num_rows for place in range(metadata.num_row_groups)]

    def has(self, column: str) -> bool:
        """Whether the file has a column of the table."""
        return self._storage.field_id(column) in self._names

    def bounds(self, column: str, group: int) -> tuple[object, object] | None:
        """Return the least and greatest value of a column in a row group; None: unknown, or there
        are nulls."""
        leaf = self._leaves.get(self._names.get(self._storage.field_id(column), ""))
        if leaf is None:
            return None
        statistics = self._parquet.metadata.row_group(group).column(leaf).statistics
        if statistics is None or not statistics.has_min_max:
            return None
        try:
            return statistics.min, statistics.max
        except (OverflowError, ValueError):  # dates that Python does not support
            return None

    def read(
        self,
        columns: Sequence[str],
        groups: Sequence[int],
        defaults: Mapping[str, object] | None = None,
    ) -> pa.Table:
        """Read columns of row groups, in this order and in the table's types. A column that the
        file lacks has the value of `defaults`, or null."""
        with answering(self._file.path):
            stored = self._parquet.read_row_groups(list(groups), self._stored_names(columns))
        group_rows = self.group_rows
        rows = sum(group_rows[group] for group in groups)
        return self._as_in_table(stored, columns, rows, defaults)

    def batches(
        self, columns: Sequence[str], defaults: Mapping[str, object] | None = None
    ) -> Iterator[pa.Table]:
        """Yield all rows as `read` returns them, in their order, in batches that limit the
        memory."""
        names = self._stored_names(columns)
        present = [name for name in columns if self.has(name)]
        groups = range(self._parquet.metadata.num_row_groups)
        size = sum(self.bytes_of(present, group) for group in groups)
        # The size in memory may be larger than in the file, which stores repeated values once.
        most = _BATCH_BYTES * sum(self.group_rows) // max(size, 1)
        batches = self._parquet.iter_batches(max(_LEAST, min(most, _MOST)), columns=names)
        while True:
            with answering(self._file.path):
                batch = next(batches, None)
            if batch is None:
                return
            stored = pa.Table.from_batches([batch])
            yield self._as_in_table(stored, columns, batch.num_rows, defaults)

    def _stored_names(self, columns: Sequence[str]) -> list[str]:
        return [self._names[self._storage.field_id(name)] for name in columns if self.has(name)]

    def _as_in_table(
        self,
        stored: pa.Table,
        columns: Sequence[str],
        rows: int,
        defaults: Mapping[str, object] | None,
    ) -> pa.Table:
        made: dict[str, pa.ChunkedArray] = {}
        for name in columns:
            column = self._storage.schema.column(name)
            assert column is not None
            if self.has(name):
                values = stored[self._names[self._storage.field_id(name)]]
                as_stored = self._storage.stored_type(name)
                made[name] = _named(conformed(values, as_stored, name, self._file.path), column)
            else:
                value = pa.scalar((defaults or {}).get(name), column.type)
                made[name] = pa.chunked_array([pa.repeat(value, rows)], column.type)
        return pa.table(made)

    def bytes_of(self, columns: Sequence[str], group: int) -> int:
        """Return the approximate size in memory of columns of a row group."""
        metadata = self._parquet.metadata.row_group(group)
        leaves = [self._leaves.get(self._names[self._storage.field_id(name)]) for name in columns]
        return sum(
            metadata.column(leaf).total_uncompressed_size for leaf in leaves if leaf is not None
        )
