"""A table of Parquet files in a folder, with its vectors beside them, and without a catalog."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow.fs import LocalFileSystem
from pyroaring import BitMap

from headrace.sinks.replicas.files.data_files import FIELD_ID, write_parquet
from headrace.sinks.replicas.files.live_rows import live_rows
from headrace.sinks.replicas.files.vectors import decode_vector, encode_vector
from headrace.sinks.replicas.lake import DataFile, TableChange, TableSchema


class FolderStorage:
    """See `headrace.sinks.replicas.lake.Storage`. Data files name columns by their ids only."""

    def __init__(self, folder: Path, schema: TableSchema, ids: Mapping[str, int]) -> None:
        self.folder = folder
        self.schema = schema
        self.filesystem = LocalFileSystem()
        self._ids = dict(ids)

    def field_id(self, column: str) -> int:
        return self._ids[column]

    def stored_type(self, column: str) -> pa.DataType:
        stored_column = self.schema.column(column)
        assert stored_column is not None
        return stored_column.type

    def write_rows(self, rows: pa.Table, name: str) -> DataFile:
        assert rows.column_names == list(self.schema.names)
        assert rows.schema.types == [column.type for column in self.schema.columns]
        fields = [
            pa.field(f"c{self._ids[field.name]}", field.type).with_metadata(
                {FIELD_ID: str(self._ids[field.name])}
            )
            for field in rows.schema
        ]
        path = str(self.folder / "data" / f"{name}.parquet")
        written = write_parquet(
            self.filesystem, path, pa.table(rows.columns, schema=pa.schema(fields))
        )
        bounds = {
            field_id: (column.least, column.greatest)
            for field_id, column in written.columns.items()
            if column.least is not None and column.nulls == 0
        }
        return DataFile(path, written.rows, written.size, json.dumps({"path": path}), bounds)

    def sweep(self, prefix: str, live: Sequence[DataFile] = ()) -> int:
        live_paths = {file.path for file in live}
        live_paths |= {json.loads(file.vector)["path"] for file in live if file.vector is not None}
        left = [
            path
            for path in self.folder.rglob(f"{prefix}*")
            if path.is_file() and str(path) not in live_paths
        ]
        for path in left:
            path.unlink()
        return len(left)

    def read_vector(self, file: DataFile) -> BitMap:
        if file.vector is None:
            return BitMap()
        path = json.loads(file.vector)["path"]
        return decode_vector(Path(path).read_bytes(), path)

    def write_vector(self, file: DataFile, positions: BitMap, name: str) -> str:
        path = self.folder / f"{name}.vector"
        assert not path.exists()
        path.write_bytes(encode_vector(positions))
        return json.dumps({"path": str(path)})


class FolderTransaction:
    """See `headrace.sinks.replicas.lake.Transaction`."""

    def __init__(self, table: FolderTable) -> None:
        self.storage: FolderStorage = pickle.loads(pickle.dumps(table.storage))
        self.files: Sequence[DataFile] = list(table.files.values())
        self._table = table

    def commit(self, change: TableChange, properties: Mapping[str, str]) -> str:
        """Commits files; a table without versions has nothing to return."""
        files = self._table.files
        for gone in change.removed:
            del files[gone.path]
        for old, vector, deleted in change.vectors:
            assert files[old.path] == old
            assert old.deleted < deleted < old.rows
            files[old.path] = DataFile(
                old.path, old.rows, old.size, old.description, old.bounds, vector, deleted
            )
        for added in change.added:
            assert added.path not in files
            files[added.path] = added
        return ""


class FolderTable:
    """A table that changes by commits."""

    def __init__(self, folder: Path, schema: TableSchema) -> None:
        self.files: dict[str, DataFile] = {}
        self._ids: dict[str, int] = {}
        self._folder = folder
        self.evolve(schema)

    def evolve(self, schema: TableSchema, renamed: Mapping[str, str] | None = None) -> None:
        """Take columns as they are from now on; `renamed` are new names by old ones."""
        for old, new in (renamed or {}).items():
            self._ids[new] = self._ids.pop(old)
        for name in schema.names:
            self._ids.setdefault(name, 10 + len(self._ids))
        self.storage = FolderStorage(self._folder, schema, self._ids)

    def begin(self) -> FolderTransaction:
        return FolderTransaction(self)

    def rows(self) -> list[dict[str, object]]:
        """The rows that a reader sees."""
        tables = [live_rows(self.storage, file) for file in self.files.values()]
        return [row for table in tables for row in table.to_pylist()]
