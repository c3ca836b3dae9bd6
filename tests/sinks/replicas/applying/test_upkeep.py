"""A replica's maintenance of its files besides the changes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.applying import batches
from headrace.sinks.replicas.changes.changed_rows import Changes
from headrace.sinks.replicas.changes.part import OPERATION, SEQUENCE, Operation
from headrace.sinks.replicas.changes.parts import PartWriter, parts_folder
from headrace.sinks.replicas.changes.schemas import TableShape, to_json
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.lake import Column, TableChange, TableName, TableSchema
from headrace.sinks.replicas.maintaining import Erased, erase, merge_small_files
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.outcomes import MicroBatch
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.runners import HereRunner
from tests.sinks.replicas.applying.folder_lake import FolderCommit, FolderLake
from tests.sinks.replicas.applying.folder_storage import FolderStorage

NAME = TableName(("shop",), "t")
SCHEMA = TableSchema((Column("id", pa.int64()), Column("v", pa.string())), ("id",))
QUERY = "12345678-query"


@pytest.fixture
def lake(tmp_path: Path) -> FolderLake:
    return FolderLake(tmp_path / "lake")


def new_replica(lake: FolderLake, options: ReplicaOptions | None = None) -> Replica:
    """The replica as another process opens it."""
    comments = SourceComments(lambda: None)
    return Replica(lake, NAME, options or ReplicaOptions(), HereRunner(), comments)


def apply(
    replica: Replica, number: int, schema: TableSchema = SCHEMA, changed: Sequence[int] = ()
) -> None:
    """A micro-batch of ten new rows, and of changed ones."""
    first = number * 10
    keys = [*changed, *range(first, first + 10)]
    count = len(keys)
    values = {
        SEQUENCE: [f"{first + place:020}" for place in range(count)],
        OPERATION: pa.array([Operation.INSERT] * count, pa.int8()),
        "id": pa.array(keys, pa.int64()),
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


def test_an_attempt_that_met_another_commit_leaves_no_files(
    lake: FolderLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = new_replica(lake)
    for number in range(9):
        apply(replica, number)
    apply_batch, others = batches.apply_batch, list[bool]()

    def with_another_commit(*arguments: object, **named: object) -> object:
        applied = apply_batch(*arguments, **named)
        if not others:
            others.append(True)
            assert merge_small_files(lake, HereRunner()) == (9, 1)
        return applied

    monkeypatch.setattr(batches, "apply_batch", with_another_commit)
    apply(replica, 9)
    assert others
    assert {name for name in lake.names if name.startswith("headrace-12345678-9-")} == {
        name for name in lake.live_names if name.startswith("headrace-12345678-9-2-")
    }
    assert ids(lake) == list(range(100))


def with_a_conflict_of_its_own(lake: FolderLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next commit be made and reported as a conflict, as by the client of a catalog that
    sends it again and meets its own."""
    original_commit = lake.commit

    def commit(version: str, change: TableChange, properties: dict[str, str]) -> str:
        monkeypatch.setattr(lake, "commit", original_commit)
        original_commit(version, change, properties)
        raise HeadraceError("replicas.conflict", "the commit was sent again", "", retriable=True)

    monkeypatch.setattr(lake, "commit", commit)


def test_files_stay_if_a_commit_that_was_made_is_reported_as_a_conflict(
    lake: FolderLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = new_replica(lake)
    for number in range(9):
        apply(replica, number)
    with_a_conflict_of_its_own(lake, monkeypatch)
    assert merge_small_files(lake, HereRunner()) == (9, 1)
    assert ids(lake) == list(range(90))

    with_the_key = lake.live_names
    with_a_conflict_of_its_own(lake, monkeypatch)
    assert erase(lake, {"id": 7}, HereRunner()) == Erased(1, 1)
    assert not lake.names & with_the_key
    left = [number for number in range(90) if number != 7]
    assert ids(lake) == left

    with_a_conflict_of_its_own(lake, monkeypatch)
    apply(replica, 9, changed=range(5))
    assert ids(lake) == [*left, *range(90, 100)]


class Killed(BaseException):
    """A kill: nothing is done after it."""


@pytest.mark.parametrize("at", ["fill", "upkeep"])
def test_what_a_killed_run_left_is_swept_by_the_next_one_and_live_files_stay(
    lake: FolderLake, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    replica, last = new_replica(lake, ReplicaOptions(compact_commits=1)), SCHEMA
    for number in range(7):
        apply(replica, number)
    commit = FolderCommit.commit
    if at == "fill":
        added = Column("w", pa.string(), default="x")
        last = replace(SCHEMA, columns=(*SCHEMA.columns, added))

    def killed(self: FolderCommit, change: TableChange, properties: dict[str, str]) -> str:
        if any(f"-{at}-" in file.path for file in change.added):
            raise Killed
        return commit(self, change, properties)

    with monkeypatch.context() as patched:
        patched.setattr(FolderCommit, "commit", killed)
        with pytest.raises(Killed):
            apply(replica, 7, last)
    assert lake.names - lake.live_names
    again = 7 if at == "fill" else 8
    apply(new_replica(lake), again, last)
    assert not {name for name in lake.names - lake.live_names if f"-{at}-" in name}
    assert ids(lake) == list(range(10 * again + 10))
    # What was committed is not swept by the next run.
    apply(new_replica(lake), again + 1, last)
    assert ids(lake) == list(range(10 * again + 20))


def test_a_commit_by_others_right_after_the_own_one_is_reported(
    lake: FolderLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    replica = new_replica(lake)
    apply(replica, 0)
    original_commit = lake.commit

    def followed(version: str, change: TableChange, properties: dict[str, str]) -> str:
        committed_version = original_commit(version, change, properties)
        lake.foreign.append("an UPDATE by Spark")
        original_commit(lake.version(), TableChange(), {})
        return committed_version

    with monkeypatch.context() as patched:
        patched.setattr(lake, "commit", followed)
        apply(replica, 1)
    with pytest.raises(HeadraceError, match="an UPDATE by Spark") as caught:
        apply(replica, 2)
    assert caught.value.code == "replicas.changed_by_others"
    with pytest.raises(HeadraceError, match="an UPDATE by Spark"):
        replica.version()


@pytest.mark.parametrize("by", ["a column with a default", "another copy"])
def test_files_of_an_upkeep_stay_for_former_versions_if_they_are_replaced(
    lake: FolderLake, by: str
) -> None:
    options = ReplicaOptions(compact_commits=1)
    replica, last = new_replica(lake, options), SCHEMA
    for number in range(8):
        apply(replica, number)
    former = lake.live_names
    assert any("-7-upkeep-" in name for name in former)
    if by == "another copy":
        replica.empty(MicroBatch(QUERY, 8, "{}"))
    else:
        added = Column("w", pa.string(), default="x")
        last = replace(SCHEMA, columns=(*SCHEMA.columns, added))
    apply(new_replica(lake, options), 8, last)
    assert not former & lake.live_names
    assert former <= lake.names


def test_files_of_an_upkeep_that_was_committed_stay(lake: FolderLake) -> None:
    for number in range(10):
        apply(new_replica(lake, ReplicaOptions(compact_commits=1)), number)
        assert ids(lake) == list(range(10 * number + 10))
    assert any("-upkeep-" in name for name in lake.live_names)


def test_a_micro_batch_is_in_the_table_if_files_of_killed_runs_cannot_be_deleted(
    lake: FolderLake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def denied(*_: object) -> int:
        raise PermissionError(13, "denied")

    monkeypatch.setattr(FolderStorage, "sweep", denied)
    apply(new_replica(lake), 0)
    assert ids(lake) == list(range(10))
    assert "Files that a killed run may have left of shop.t stay: PermissionError" in caplog.text


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
