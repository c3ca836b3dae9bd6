"""A bank whose accounts are in two tables, and a sink that replicates both, without Spark: the
versions of its tables are kept, and the process can be killed before each step."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headrace.config.filters import NameFilter
from headrace.offsets.offset import OffsetSummary
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.changes.parts import describe, note_end, parts_folder
from headrace.sinks.replicas.changes.schemas import to_json
from headrace.sinks.replicas.cuts import cut_log, taking
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
from headrace.sinks.replicas.state import committed, kept
from headrace.spark.sinks.definition import SinkQuery
from tests.sinks.replicas.applying.folder_storage import FolderTable, FolderTransaction
from tests.sinks.replicas.applying.replay import Change, write_part

SCHEMA = TableSchema((Column("id", pa.int32()), Column("balance", pa.int64())), ("id",))
TABLES = ("a", "b")
ACCOUNTS, START = 3, 100
STEPS = ((os, "link"), (kept, "replace_text"), (shutil, "rmtree"),
         (cut_log, "replace_text"), (taking, "replace_text"), (committed, "replace_text"),
         (Path, "unlink"))  # fmt: skip
Rows = dict[int, int]
Balances = dict[str, Rows]


class Killed(BaseException):
    """The process ends here."""


class Steps:
    """Counts the changes of the disk and of the tables, and kills before one of them."""

    def __init__(self) -> None:
        self.left: int | None = None
        """The number of steps before the kill; None: no kill."""

    def step(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed

    @contextmanager
    def counted(self) -> Iterator[None]:
        """A context in which steps on the disk count."""

        def counting(real: Callable[..., Any]) -> Callable[..., Any]:
            def called(*arguments: Any, **named: Any) -> Any:
                self.step()
                return real(*arguments, **named)

            return called

        with pytest.MonkeyPatch.context() as patched:
            for owner, name in STEPS:
                patched.setattr(owner, name, counting(getattr(owner, name)))
            yield


class _Transaction(FolderTransaction):
    _table: VersionedTable

    def commit(self, change: TableChange, properties: Mapping[str, str]) -> str:
        self._table.steps.step()
        super().commit(change, properties)
        self._table.committed(properties)
        self._table.steps.step()
        return self._table.version()


class VersionedTable(FolderTable):
    """A LakeTable that keeps the rows of its versions."""

    def __init__(self, folder: Path, name: str, steps: Steps) -> None:
        folder.mkdir()
        super().__init__(folder, SCHEMA)
        self.name, self.steps = TableName((), name), steps
        self.kept: dict[str, str] = {KEY: '["id"]'}
        self.versions: dict[str, Rows] = {"": {}}
        self.expired: list[Any] = []
        self.foreign: list[str] = []

    def committed(self, properties: Mapping[str, str]) -> None:
        self.kept |= properties
        rows = {row["id"]: row["balance"] for row in self.rows()}
        self.versions[str(len(self.versions))] = rows  # type: ignore[assignment]

    def schema(self) -> TableSchema:
        return SCHEMA

    def properties(self) -> Mapping[str, str]:
        return self.kept

    def refresh(self) -> None:
        """Does nothing."""

    def version(self) -> str:
        return list(self.versions)[-1]

    def foreign_changes(self) -> Sequence[str]:
        return self.foreign

    def expire(self, older_than: Any) -> None:
        self.expired.append(older_than)

    def begin(self, change: ColumnChange | None = None) -> _Transaction:
        assert not change
        return _Transaction(self)


@dataclass(frozen=True)
class Transfer:
    """A change of two balances, in any of the tables."""

    source: tuple[str, int]
    target: tuple[str, int]
    amount: int


Transaction = list[Transfer]


class Bank:
    """The log of transactions, and the tables and the sink that follow it."""

    def __init__(self, folder: Path, log: Sequence[Transaction], **options: Any) -> None:
        self._folder, self._options = folder, ReplicaOptions(threads=1, **options)
        (folder / "checkpoint" / "offsets").mkdir(parents=True)
        (folder / "checkpoint" / "metadata").write_text(json.dumps({"id": "a-query"}))
        self.state, self.steps = folder / "state" / "folder", Steps()
        self.state.mkdir(parents=True)
        self.tables = {name: VersionedTable(folder / name, name, self.steps) for name in TABLES}
        balances: Balances = {name: dict.fromkeys(range(ACCOUNTS), START) for name in TABLES}
        self.balances = [balances]
        """The balances after each number of transactions; the first one creates the accounts."""
        opening = [(n, i, START) for n, rows in balances.items() for i in rows]
        self._log = [(number, change) for number, change in enumerate(opening, 1)]
        self.ends = [len(self._log)]
        """The number of changes up to the end of each transaction."""
        for transaction in log:
            balances = {name: dict(rows) for name, rows in balances.items()}
            for transfer in transaction:
                for (name, account), sign in ((transfer.source, -1), (transfer.target, 1)):
                    balances[name][account] += sign * transfer.amount
                    change = (name, account, balances[name][account])
                    self._log.append((len(self._log) + 1, change))
            self.balances.append(balances)
            self.ends.append(len(self._log))
        self._batches: list[int] = []
        self.start()

    def start(self) -> None:
        """A process begins."""
        every = NameFilter([])
        config: Any = SimpleNamespace(topic_prefix="shop", snapshot_filter=lambda: every)
        table_format: Any = SimpleNamespace(name="folder")
        query = SinkQuery(config, self.state, self._folder / "checkpoint")
        self.sink = ReplicaSink(table_format, {}, self._options, query)
        self.sink.open()
        lake: Any = SimpleNamespace(
            table=lambda name: self.tables[name.name], announce=lambda _: None
        )
        self.sink._lake, self.sink._runner = lake, HereRunner()
        self.sink._cuts.open({"path": "lake"}, self._folder / "checkpoint")
        self.sink._resume_stopped()
        for name in TABLES:
            replica = self.sink._replica(TableName((), name))
            assert replica._opened() is self.tables[name]

    @property
    def changes(self) -> int:
        return len(self._log)

    def end(self, up_to: int, *, kill_after: int | None = None) -> None:
        """A micro-batch of the changes up to a number; the process is killed before a step, and the
        micro-batch comes again."""
        self._batches.append(up_to)
        self.steps.left = kill_after
        with self.steps.counted():
            try:
                self._end()
            except Killed:
                self.steps.left = None
                self.start()
                self._end()
        self.steps.left = None

    def _end(self) -> None:
        number = len(self._batches) - 1
        first, up_to = [0, *self._batches][number], self._batches[number]
        offset = json.dumps({"system": "bank"})
        (self._folder / "checkpoint" / "offsets" / str(number)).write_text(f"v1\n{{}}\n{offset}")
        ended_count = sum(end <= up_to for end in self.ends)
        is_boundary = up_to in self.ends
        left, self.steps.left = self.steps.left, None  # the source is not killed
        note_end(
            self.state,
            number,
            OffsetSummary(ended_count, f"0/{ended_count}", True, not is_boundary, is_boundary),
        )
        parts = []
        for name in TABLES:
            numbered = [
                (place, Change(Operation.INSERT, (account,), {"balance": balance}))
                for place, (of, account, balance) in self._log[first:up_to]
                if of == name
            ]
            if numbered:
                part = write_part(
                    parts_folder(self.state), f"{number}-source-{name}", numbered, SCHEMA
                )
                table_part = replace(
                    part, topic=f"shop.{name}", schema=to_json(SCHEMA), source_ms=up_to
                )
                parts.append(table_part)
        describe(self.state, number, parts)
        self.steps.left = left
        self.sink.end(None, number)
        commits = self._folder / "checkpoint" / "commits"
        commits.mkdir(exist_ok=True)
        (commits / str(number)).write_text("v1\n{}\n")
