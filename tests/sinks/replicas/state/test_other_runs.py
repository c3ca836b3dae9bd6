"""Two runs of one query at the same time, with copies of its checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.changed_rows import Changes
from headrace.sinks.replicas.changes.part import OPERATION, SEQUENCE, Operation
from headrace.sinks.replicas.changes.parts import PartWriter, parts_folder
from headrace.sinks.replicas.changes.schemas import TableShape, to_json
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.lake import Column, TableName, TableSchema
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.outcomes import MicroBatch, Outcome
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.runners import HereRunner
from tests.sinks.replicas.applying.folder_lake import FolderLake

NAME = TableName(("shop",), "t")
SCHEMA = TableSchema((Column("id", pa.int64()), Column("v", pa.string())), ("id",))
QUERY = "12345678-query"


@pytest.fixture
def lake(tmp_path: Path) -> FolderLake:
    return FolderLake(tmp_path / "lake")


class Run:
    """A run of the query, which sees the table when it starts."""

    def __init__(self, lake: FolderLake, name: str) -> None:
        self.lake, self.name = lake, name
        self.replica = Replica(
            lake, NAME, ReplicaOptions(), HereRunner(), SourceComments(lambda: None)
        )
        self.replica.prepare(SCHEMA, QUERY if lake.table(NAME) else "")

    def apply(
        self,
        number: int,
        position: str = "{}",
        before_commit: Callable[[int], None] | None = None,
    ) -> Outcome:
        """Apply a micro-batch with one row, whose key is its number."""
        values = {
            SEQUENCE: [f"{number:020}"],
            OPERATION: pa.array([Operation.INSERT], pa.int8()),
            "id": pa.array([number], pa.int64()),
            "v": [self.name],
        }
        folder = parts_folder(self.lake.folder.parent)
        with PartWriter(folder, f"{number}-{self.name}") as writer:
            writer.add(Changes("shop.t", TableShape(SCHEMA, to_json(SCHEMA), {}), pa.table(values)))
            parts = writer.finish()
        batch = MicroBatch(QUERY, number, position, run=f"run {self.name}")
        return self.replica.apply(batch, parts, folder, count_left_out=before_commit)

    def is_refused(self, number: int, position: str = "{}") -> None:
        with pytest.raises(HeadraceError) as caught:
            self.apply(number, position)
        assert (caught.value.code, caught.value.retriable) == ("replicas.other_run", False)


def rows(lake: FolderLake) -> dict[int, str]:
    return {row["id"]: row["v"] for row in lake.kept.rows()}  # type: ignore[misc]


def test_of_two_runs_at_a_time_the_first_to_commit_goes_on(lake: FolderLake) -> None:
    first = Run(lake, "a")
    first.apply(1)
    second = Run(lake, "b")
    first.apply(2)
    second.is_refused(2)
    second.is_refused(3)
    first.apply(3)
    assert rows(lake) == {1: "a", 2: "a", 3: "a"}


def test_a_run_that_was_continued_elsewhere_commits_no_more(lake: FolderLake) -> None:
    first = Run(lake, "a")
    first.apply(1)
    second = Run(lake, "b")
    second.apply(2)
    first.is_refused(2)
    second.apply(3)
    assert rows(lake) == {1: "a", 2: "b", 3: "b"}


def test_a_run_that_another_one_overtakes_before_its_commit_leaves_the_table_whole(
    lake: FolderLake,
) -> None:
    first = Run(lake, "a")
    first.apply(1)
    second = Run(lake, "b")
    with pytest.raises(HeadraceError, match=r"replicas\.other_run"):
        first.apply(2, before_commit=lambda _: second.apply(2) and None)
    assert rows(lake) == {1: "a", 2: "b"}  # so that all files are there
    second.apply(3)
    assert rows(lake) == {1: "a", 2: "b", 3: "b"}
    assert lake.live_names == {name for name in lake.names if name.startswith("headrace-")}


def test_the_last_micro_batch_of_a_former_run_comes_again_unless_it_had_other_changes(
    lake: FolderLake,
) -> None:
    Run(lake, "a").apply(1, '{"lsn":7}')
    Run(lake, "b").is_refused(1, '{"lsn":8}')
    assert Run(lake, "c").apply(1, '{"lsn":7}').is_repeated
    assert rows(lake) == {1: "a"}
