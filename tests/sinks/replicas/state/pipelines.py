"""A sink of one replica, micro-batch by micro-batch, without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from headrace.config.filters import NameFilter
from headrace.offsets.offset import OffsetSummary
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.changes.parts import describe, note_end, parts_folder
from headrace.sinks.replicas.changes.schemas import to_json
from headrace.sinks.replicas.lake import (
    KEY,
    Column,
    ColumnChange,
    TableChange,
    TableName,
    TableSchema,
)
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.runners import HereRunner
from headrace.sinks.replicas.sink import ReplicaSink
from headrace.spark.sinks.definition import SinkQuery
from tests.sinks.replicas.applying.folder_storage import FolderTable, FolderTransaction
from tests.sinks.replicas.applying.replay import Change, write_part

SCHEMA = TableSchema(
    (Column("id", pa.int32()), Column("name", pa.string()), Column("large", pa.string())), ("id",)
)


class _Transaction(FolderTransaction):
    _table: _Table

    def commit(self, change: TableChange, properties: Mapping[str, str]) -> str:
        super().commit(change, properties)
        self._table.kept |= properties
        self._table.commits += 1
        return self._table.version()


class _Table(FolderTable):
    """See LakeTable, as far as the sink needs it."""

    name = TableName((), "topic")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SCHEMA)
        self.kept: dict[str, str] = {KEY: '["id"]'}
        self.commits = 0

    def schema(self) -> TableSchema:
        return SCHEMA

    def properties(self) -> Mapping[str, str]:
        return self.kept

    def refresh(self) -> None:
        """Does nothing."""

    def version(self) -> str:
        return str(self.commits) if self.commits else ""

    def foreign_changes(self) -> Sequence[str]:
        return []

    def begin(self, change: ColumnChange | None = None) -> _Transaction:
        assert not change
        return _Transaction(self)


class Pipeline:
    """A sink of one table, micro-batch by micro-batch."""

    def __init__(self, folder: Path, options: ReplicaOptions | None = None) -> None:
        (folder / "table").mkdir()
        self.filter = NameFilter([])
        (folder / "checkpoint" / "offsets").mkdir(parents=True)
        (folder / "checkpoint" / "metadata").write_text(json.dumps({"id": "a-query"}))
        self.state = folder / "state"
        self.table = _Table(folder / "table")
        self.checkpoint = folder / "checkpoint"
        self._options = options or ReplicaOptions()
        self._places = iter(range(1, 1000))
        self.start()

    def start(self) -> None:
        """A process begins, after a kill perhaps."""
        config: Any = SimpleNamespace(topic_prefix="shop", snapshot_filter=lambda: self.filter)
        made_of: Any = SimpleNamespace(name="folder", reader_options=lambda _: {})
        query = SinkQuery(config, self.state, self.checkpoint)
        self.sink = ReplicaSink(made_of, {}, self._options, query)
        self.sink.open()
        lake: Any = SimpleNamespace(table=lambda _: self.table, announce=lambda _: None)
        self.sink._lake = lake
        self.sink._runner = HereRunner()
        self.sink._cuts.open({}, self.checkpoint)
        self.sink._resume_stopped()

    def end(
        self,
        batch: int,
        *changes: Change,
        is_settled: bool = False,
        copies: bool = False,
        is_inside: bool = False,
        **members: object,
    ) -> None:
        """A micro-batch of changes, whose end has these `members` in its offset."""
        offset = json.dumps({"snapshot": {}, **members} if copies else members)
        (self.checkpoint / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{offset}")
        parts = []
        if changes:
            numbered = [(next(self._places), change) for change in changes]
            folder = parts_folder(self.state)
            written_part = write_part(folder, f"{batch}-source-0", numbered, SCHEMA)
            parts.append(replace(written_part, schema=to_json(SCHEMA)))
        self.sink._replica(self.table.name)._opened()
        is_boundary = is_settled and not (copies or is_inside)
        note_end(
            self.state,
            batch,
            OffsetSummary(batch, f"0/{batch}", is_settled, is_inside, is_boundary),
        )
        describe(self.state, batch, parts)
        self.sink.end(None, batch)

    @property
    def rows(self) -> dict[object, tuple[object, object]]:
        return {row["id"]: (row["name"], row["large"]) for row in self.table.rows()}


def insert(key: int, name: str, large: str) -> Change:
    return Change(Operation.INSERT, (key,), {"name": name, "large": large})


def move(old: int, new: int, name: str) -> tuple[Change, Change]:
    """A key changes, and the log does not carry the large value."""
    moved = Change(Operation.INSERT, (new,), {"name": name}, old_key=(old,))
    return Change(Operation.DELETE, (old,)), moved
