"""The files of one Delta table, as tasks write and read them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.sinks.delta.locations import file_in_log
from headrace.sinks.delta.schemas import ID, Field, physical_schema
from headrace.sinks.delta.statistics import file_statistics, leaf_paths, read_statistics
from headrace.sinks.delta.vector_files import (
    FILES,
    read_vector_file,
    vector_path,
    write_vector_file,
)
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.data_files import sweep_files, write_parquet
from headrace.sinks.replicas.lake import DataFile, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs
    from pyroaring import BitMap

DATA_FILE = FILES + "{name}.zstd.parquet"
"""The paths of data files. Delta itself names the files of vectors, but not their folders
(`vector_files.vector_place`)."""


@dataclass
class DeltaStorage:
    """See Storage. `fields` are the columns as in the log, `indexed` is the number of leaf columns
    with statistics (-1: all); those of the key always have them."""

    root: str
    schema: TableSchema
    fields: Sequence[Field]
    indexed: int
    filesystem: pyarrow.fs.FileSystem

    def field_id(self, column: str) -> int:
        """See Storage."""
        field = next(field for field in self.fields if field["name"] == column)
        return int(field["metadata"][ID])

    def stored_type(self, column: str) -> pa.DataType:
        """See Storage: members of structs have physical names."""
        place = next(n for n, field in enumerate(self.fields) if field["name"] == column)
        return self._physical.field(place).type

    def write_rows(self, rows: pa.Table, name: str) -> DataFile:
        """See Storage."""
        physical = physical_rows(rows, self._physical)
        logged = DATA_FILE.format(name=name)
        path = f"{self.root}/{logged}"
        written = write_parquet(self.filesystem, path, physical)
        statistics = file_statistics(physical, written, self._indexed_paths)
        _, bounds = read_statistics(statistics, self._physical)
        added = {
            "path": file_in_log(logged),
            "partitionValues": {},
            "size": written.size,
            "modificationTime": time.time_ns() // 1_000_000,
            "stats": statistics,
        }
        return DataFile(path, written.rows, written.size, json.dumps(added), bounds)

    def read_vector(self, file: DataFile) -> BitMap:
        """See Storage. Raises HeadraceError("replicas.vector_not_understood"), OSError."""
        if file.vector is None:
            return bitmap()
        return read_vector_file(self.filesystem, self.root, file.vector)

    def write_vector(self, file: DataFile, positions: BitMap, name: str) -> str:  # noqa: ARG002
        """See Storage. Raises OSError."""
        return write_vector_file(self.filesystem, self.root, positions, name)

    def sweep(self, prefix: str, live: Sequence[DataFile] = ()) -> int:
        """See Storage. Raises OSError."""
        from pyarrow.fs import FileSelector

        paths = {file.path for file in live}
        paths |= {vector_path(self.root, file.vector) for file in live if file.vector is not None}
        swept = sweep_files(self.filesystem, self.root, FILES + prefix, paths)
        for entry in self.filesystem.get_file_info(FileSelector(self.root, allow_not_found=True)):
            if not entry.is_file and entry.base_name.startswith(FILES + prefix):
                swept += sweep_files(self.filesystem, entry.path, "", paths)
                if not any(path.startswith(f"{entry.path}/") for path in paths):
                    self.filesystem.delete_dir(entry.path)
        return swept

    @cached_property
    def _physical(self) -> pa.Schema:
        return physical_schema(self.fields)

    @cached_property
    def _indexed_paths(self) -> list[tuple[str, ...]]:
        paths = list(leaf_paths(self._physical))
        key = {
            self._physical.field(place).name
            for place, field in enumerate(self.fields)
            if field["name"] in self.schema.key
        }
        limit = len(paths) if self.indexed < 0 else self.indexed
        return paths[:limit] + [path for path in paths[limit:] if path[0] in key]

    def __getstate__(self) -> dict[str, Any]:
        names = ("root", "schema", "fields", "indexed", "filesystem")
        return {name: getattr(self, name) for name in names}


def physical_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows under the physical names, at every depth, without copying the values. Large texts, bytes
    and lists become small ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column, field, before in zip(rows.columns, schema, rows.schema, strict=True):
        plain = _small(before.type)
        if plain != before.type:
            column = pc.cast(column, plain)
        if column.type != field.type:
            chunks = [chunk.view(field.type) for chunk in column.chunks]
            column = pa.chunked_array(chunks, field.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _small(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_large_string(kind):
        return pa.string()
    if types.is_large_binary(kind):
        return pa.binary()
    if types.is_list(kind) or types.is_large_list(kind):
        return pa.list_(pa.field("element", _small(kind.value_type)))
    if types.is_map(kind):
        return pa.map_(_small(kind.key_type), _small(kind.item_type))
    if types.is_struct(kind):
        return pa.struct([pa.field(member.name, _small(member.type)) for member in kind])
    return kind
