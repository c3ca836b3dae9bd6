"""A lake of one table in a folder, without Spark and without a catalog: every replica of it sees
the same table, as processes that run one after the other do."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import (
    ColumnChange,
    DataFile,
    TableChange,
    TableName,
    TableSchema,
)
from headrace.sinks.replicas.source_columns import after
from tests.sinks.replicas.applying.folder_storage import FolderStorage, FolderTable


class FolderLake:
    """See `headrace.sinks.replicas.lake.Lake` and `LakeTable`: it is its own table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.expired = 0
        self.foreign: list[str] = []
        """What others did to the rows since the last own commit."""
        self._table: FolderTable | None = None
        self._version = 0
        self._properties: dict[str, str] = {}

    def table(self, name: TableName) -> FolderLake | None:
        self.name = name
        return None if self._table is None else self

    def create(
        self, name: TableName, schema: TableSchema, properties: Mapping[str, str]
    ) -> FolderLake:
        self.name, self._table = name, FolderTable(self.folder, schema)
        self._properties |= properties
        return self

    def announce(self, name: TableName) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""

    @property
    def kept(self) -> FolderTable:
        assert self._table is not None
        return self._table

    @property
    def names(self) -> set[str]:
        """Names of the existing data files, live or not."""
        return {path.name for path in (self.folder / "data").glob("*.parquet")}

    @property
    def live_names(self) -> set[str]:
        return {Path(path).name for path in self.kept.files}

    def schema(self) -> TableSchema:
        return self.kept.storage.schema

    def properties(self) -> Mapping[str, str]:
        return dict(self._properties)

    def refresh(self) -> None:
        """Does nothing: there is one state."""

    def begin(self, change: ColumnChange) -> FolderCommit:
        if change:
            schema = after(self.schema(), change)
            key = tuple(change.renamed.get(name, name) for name in schema.key)
            self.kept.evolve(replace(schema, key=key), change.renamed)
        return FolderCommit(self)

    def foreign_changes(self) -> Sequence[str]:
        return self.foreign

    def expire(self, older_than: dt.datetime) -> None:
        self.expired += 1

    def has_former_versions(self) -> bool:
        return False

    def version(self) -> str:
        return str(self._version)

    def commit(self, version: str, change: TableChange, properties: Mapping[str, str]) -> str:
        """Commits a change; refuses it if another one was committed since."""
        if version != self.version():
            raise HeadraceError("replicas.conflict", "there was another", "", retriable=True)
        self.kept.begin().commit(change, {})
        self._properties |= properties
        self._version += 1
        return self.version()


class FolderCommit:
    """See `headrace.sinks.replicas.lake.Transaction`."""

    def __init__(self, lake: FolderLake) -> None:
        begun = lake.kept.begin()
        self.storage: FolderStorage = begun.storage
        self.files: Sequence[DataFile] = begun.files
        self._lake, self._version = lake, lake.version()

    def commit(self, change: TableChange, properties: Mapping[str, str]) -> str:
        return self._lake.commit(self._version, change, properties)
