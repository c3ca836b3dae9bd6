"""Reads data files with the table's current columns: a column is found by its field id, and cast to
the table's type."""

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

_BATCH_BYTES, _MIN_ROWS, _MAX_ROWS = 4 << 20, 16, 2048
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


def _with_member_names(stored: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Return a column of a data file with the table's names of members of structs. A cast matches
    members by name, and the file may have former names."""
    if stored.type == column.type:
        return stored
    return pa.chunked_array([chunk.view(column.type) for chunk in stored.chunks], column.type)


def _leaf_count(kind: pa.DataType) -> int:
    """Return the number of Parquet columns that store a column of this type."""
    if pa.types.is_struct(kind):
        return sum(_leaf_count(member.type) for member in kind)
    if pa.types.is_map(kind):
        return _leaf_count(kind.key_type) + _leaf_count(kind.item_type)
    return _leaf_count(kind.value_type) if pa.types.is_nested(kind) else 1


class DataFileReader:
    """An open data file. One thread at a time may use it."""

    def __init__(self, storage: Storage, file: DataFile) -> None:
        import pyarrow.parquet as pq

        self._storage = storage
        self._file = file
        with answering(file.path):
            self._input = storage.filesystem.open_input_file(file.path)
            self._parquet: pq.ParquetFile = pq.ParquetFile(self._input, pre_buffer=True)
        self._names: dict[int, str] = {}
        self._leaves: dict[str, range] = {}
        first = 0
        for field in self._parquet.schema_arrow:
            if field.metadata and FIELD_ID in field.metadata:
                self._names[int(field.metadata[FIELD_ID])] = field.name
            end = first + _leaf_count(field.type)
            self._leaves[field.name] = range(first, end)
            first = end

    def __enter__(self) -> DataFileReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._parquet.close()
        self._input.close()

    @property
    def group_rows(self) -> list[int]:
        """The number of rows in each row group."""
        metadata = self._parquet.metadata
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def has(self, column: str) -> bool:
        """Whether the file has a column of the table."""
        return self._storage.field_id(column) in self._names

    def bounds(self, column: str, group: int) -> tuple[object, object] | None:
        """Return the least and greatest value of a column of a plain type in a row group, apart
        from nulls. None: unknown, or all are null."""
        leaves = self._leaves.get(self._names.get(self._storage.field_id(column), ""), range(0))
        if not leaves:
            return None
        statistics = self._parquet.metadata.row_group(group).column(leaves[0]).statistics
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
        file lacks has its value in `defaults`, else null."""
        with answering(self._file.path):
            stored = self._parquet.read_row_groups(list(groups), self._stored_names(columns))
        group_rows = self.group_rows
        rows = sum(group_rows[group] for group in groups)
        return self._as_in_table(stored, columns, rows, defaults)

    def batches(
        self, columns: Sequence[str], defaults: Mapping[str, object] | None = None
    ) -> Iterator[pa.Table]:
        """Yield all rows in the order of the file, as `read` returns them, in batches of some
        `_BATCH_BYTES`."""
        names = self._stored_names(columns)
        present = [name for name in columns if self.has(name)]
        groups = range(self._parquet.metadata.num_row_groups)
        size = sum(self.bytes_of(present, group) for group in groups)
        # The size in memory may be larger than in the file, which stores repeated values once.
        most = _BATCH_BYTES * sum(self.group_rows) // max(size, 1)
        batches = self._parquet.iter_batches(max(_MIN_ROWS, min(most, _MAX_ROWS)), columns=names)
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
        in_table: dict[str, pa.ChunkedArray] = {}
        for name in columns:
            column = self._storage.schema.column(name)
            assert column is not None
            if self.has(name):
                values = stored[self._names[self._storage.field_id(name)]]
                as_stored = self._storage.stored_type(name)
                in_table[name] = _with_member_names(
                    conformed(values, as_stored, name, self._file.path), column
                )
            else:
                value = pa.scalar((defaults or {}).get(name), column.type)
                in_table[name] = pa.chunked_array([pa.repeat(value, rows)], column.type)
        return pa.table(in_table)

    def bytes_of(self, columns: Sequence[str], group: int) -> int:
        """Return the approximate size in memory of columns of a row group."""
        metadata = self._parquet.metadata.row_group(group)
        leaves = [self._leaves[self._names[self._storage.field_id(name)]] for name in columns]
        return sum(
            metadata.column(leaf).total_uncompressed_size for column in leaves for leaf in column
        )
