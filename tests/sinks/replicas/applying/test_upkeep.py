"""What a replica does for its files beside the changes."""

from __future__ import annotations

import logging
from dataclasses import replace
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
from headrace.sinks.replicas.outcomes import MicroBatch
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.runners import HereRunner
from tests.sinks.replicas.applying.folder_lake import FolderLake

NAME = TableName(("shop",), "t")
SCHEMA = TableSchema((Column("id", pa.int64()), Column("v", pa.string())), ("id",))
QUERY = "12345678-query"


@pytest.fixture
def lake(tmp_path: Path) -> FolderLake:
    return FolderLake(tmp_path / "lake")


def new_replica(lake: FolderLake, options: ReplicaOptions | None = None) -> Replica:
    """As another process has it."""
    comments = SourceComments(lambda: None)
    return Replica(lake, NAME, options or ReplicaOptions(), HereRunner(), comments)


def apply(replica: Replica, number: int, schema: TableSchema = SCHEMA) -> None:
    """A micro-batch of ten new rows."""
    first, count = number * 10, 10
    values = {
        SEQUENCE: [f"{first + place:020}" for place in range(count)],
        OPERATION: pa.array([Operation.INSERT] * count, pa.int8()),
        "id": pa.array(range(first, first + count), pa.int64()),
        **{name: [f"{name}{number}"] * count for name in schema.names[1:]},
    }
    assert isinstance(replica._lake, FolderLake)
    folder = replica._lake.folder.parent
    with PartWriter(parts_folder(folder), f"{number}") as writer:
        shape = TableShape(schema, to_json(schema), {})
        writer.add(Changes("shop.t", shape, pa.table(values)))
        parts = writer.finish()
    replica.apply(MicroBatch(QUERY, number, "{}"), parts, parts_folder(folder))


def ids(lake: FolderLake) -> list[object]:
    return sorted(row["id"] for row in lake.kept.rows())


def test_a_table_of_which_the_source_leaves_changes_out_is_not_begun(lake: FolderLake) -> None:
    filtered = replace(SCHEMA, source="shop.t", left_out="the publication p leaves out DELETE")
    with pytest.raises(HeadraceError, match=r"of shop\.t the publication p leaves out") as caught:
        new_replica(lake).prepare(filtered, "")
    assert caught.value.code == "replicas.incomplete"
    assert lake.table(NAME) is None
    assert new_replica(lake, ReplicaOptions(is_incomplete=True)).prepare(filtered, "")


def test_the_files_of_runs_that_make_one_commit_each_are_merged(lake: FolderLake) -> None:
    for number in range(40):
        apply(new_replica(lake), number)
    assert len(lake.live_names) <= 20
    assert lake.expired == 2
    assert ids(lake) == list(range(400))


def test_a_micro_batch_whose_upkeep_fails_is_in_the_table(
    lake: FolderLake, caplog: pytest.LogCaptureFixture
) -> None:
    replica = new_replica(lake, ReplicaOptions(compact_commits=9))
    for number in range(8):
        apply(replica, number)
    broken = Path(next(iter(lake.kept.files)))
    content = broken.read_bytes()
    broken.write_bytes(b"no Parquet")
    with caplog.at_level(logging.WARNING):
        for number in range(8, 18):
            apply(replica, number)
    assert "The upkeep of shop.t failed, and is tried again later: ArrowInvalid" in caplog.text
    broken.write_bytes(content)
    assert ids(lake) == list(range(180))
