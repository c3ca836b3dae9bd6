"""Commits by others between the beginning and the end of one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.delta.format import FORMAT
from headrace.sinks.delta.kernel import Kernel
from headrace.sinks.replicas.lake import (
    BATCH,
    KEY,
    Column,
    ColumnChange,
    Lake,
    LakeTable,
    TableChange,
    TableName,
    TableSchema,
)
from tests.sinks.lake.delta.applying import (
    apply,
    batch_properties,
    live_rows,
    planned,
    seen_by_delta_rs,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ORDERS = TableName(("shop",), "orders")
SCHEMA = TableSchema((Column("id", pa.int64()), Column("name", pa.string())), ("id",))


@pytest.fixture
def other(lake: Lake, kernel_spark: SparkSession, tmp_path: Path) -> LakeTable:
    """The table, as somebody else has it."""
    table = lake.create(ORDERS, SCHEMA, {})
    apply(table, 1, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    lake_table = FORMAT.open(kernel_spark, {"path": str(tmp_path / "lake")}).table(ORDERS)
    assert lake_table is not None
    return lake_table


def test_a_compaction_in_between_is_a_conflict_and_the_next_beginning_works(
    lake: Lake, other: LakeTable, tmp_path: Path
) -> None:
    table = lake.table(ORDERS)
    assert table is not None
    ours = table.begin(ColumnChange())
    change = planned(ours, [{"id": 2, "name": "new"}], [1])

    theirs = other.begin(ColumnChange())
    rows = pa.concat_tables(live_rows(theirs.storage, file) for file in theirs.files)
    compacted = theirs.storage.write_rows(rows, "compacted")
    theirs.commit(TableChange([compacted], (), theirs.files, is_compaction=True), {})

    with pytest.raises(
        HeadraceError, match="changed after version 1: STREAMING UPDATE by "
    ) as lost:
        ours.commit(change, batch_properties(2))
    assert (lost.value.code, lost.value.retriable) == ("replicas.conflict", True)
    assert "changed its files (version 2)" in lost.value.message

    apply(table, 2, [{"id": 2, "name": "new"}], [1])
    root = tmp_path / "lake/shop/orders"
    assert seen_by_delta_rs(root) == [{"id": 2, "name": "new"}]
    assert table.version() == "3"


def test_batches_do_not_change_the_metadata_of_the_table(
    lake: Lake, other: LakeTable, tmp_path: Path
) -> None:
    """Spark refuses an OPTIMIZE that began before such a change."""
    assert other.properties()[BATCH] == "1"
    table = lake.table(ORDERS)
    assert table is not None
    apply(table, 2, [{"id": 2, "name": "new"}])
    log = tmp_path / "lake/shop/orders/_delta_log"
    assert '"metaData"' in (log / f"{0:020}.json").read_text()
    assert not any('"metaData"' in (log / f"{version:020}.json").read_text() for version in (1, 2))


def test_other_columns_in_between_are_named_and_seen_at_the_next_beginning(
    lake: Lake, other: LakeTable
) -> None:
    table = lake.table(ORDERS)
    assert table is not None
    ours = table.begin(ColumnChange())
    added = ColumnChange(added=(Column("theirs", pa.int32()),))
    other.begin(added).commit(TableChange(), {})
    with pytest.raises(HeadraceError, match="changed its columns or properties") as lost:
        ours.commit(TableChange(), batch_properties(2))
    assert lost.value.code == "replicas.conflict"
    begun = table.begin(ColumnChange())
    assert begun.storage.schema.names == table.schema().names == ("id", "name", "theirs")


def test_rows_of_others_are_a_conflict_and_the_table_then_has_their_file(
    lake: Lake, other: LakeTable
) -> None:
    table = lake.table(ORDERS)
    assert table is not None
    ours = table.begin(ColumnChange())
    apply(other, 5, [{"id": 3, "name": "theirs"}])
    with pytest.raises(HeadraceError, match=r"replicas\.conflict"):
        ours.commit(planned(ours, [{"id": 3, "name": "ours"}], []), batch_properties(2))
    table.refresh()
    assert table.properties()[BATCH] == "5"
    assert len(table.begin(ColumnChange()).files) == 2


def test_a_commit_between_batches_is_read_before_the_next(lake: Lake, other: LakeTable) -> None:
    table = lake.table(ORDERS)
    assert table is not None
    apply(other, 2, [{"id": 3, "name": "x"}], [1, 2])
    transaction = table.begin(ColumnChange())
    assert [file.rows - file.deleted for file in transaction.files] == [1]
    assert table.version() == "2"


def test_a_disk_without_space_for_the_log_is_said_and_the_next_beginning_works(
    lake: Lake, other: LakeTable, tmp_path: Path
) -> None:
    table = lake.table(ORDERS)
    assert table is not None
    transaction = table.begin(ColumnChange())
    log = tmp_path / "lake/shop/orders/_delta_log"
    log.rename(log.with_name("away"))
    log.write_text("no folder")
    with pytest.raises(HeadraceError) as failed:
        transaction.commit(TableChange(), batch_properties(2))
    assert (failed.value.code, failed.value.retriable) == ("replicas.not_written", True)
    log.unlink()
    log.with_name("away").rename(log)
    apply(table, 2, [{"id": 1, "name": "again"}])
    assert table.version() == "2"


def test_a_batch_is_not_in_the_way_of_what_somebody_else_began_before(
    lake: Lake, other: LakeTable, kernel_spark: SparkSession, tmp_path: Path
) -> None:
    root = tmp_path / "lake/shop/orders"
    kernel: Any = Kernel(kernel_spark)
    snapshot = kernel.load(str(root)).snapshot
    theirs = snapshot.buildUpdateTableTransaction("theirs", kernel._update).build(kernel._engine)
    ours = other.begin(ColumnChange())
    key = {KEY: other.properties()[KEY]}
    ours.commit(planned(ours, [{"id": 3, "name": "ours"}], [1]), batch_properties(2) | key)
    added = json.loads(
        other.begin(ColumnChange())
        .storage.write_rows(pa.table({"id": [9], "name": ["theirs"]}), "theirs")
        .description
    )
    actions = [{"add": {**added, "dataChange": True}}]
    assert theirs.commit(kernel._engine, kernel._rows(actions)).getVersion() == 3
    kernel.close()
    apply(other, 3, [{"id": 4, "name": "ours"}])
    assert [row["id"] for row in seen_by_delta_rs(root)] == [2, 3, 4, 9]


def test_a_table_whose_folder_is_gone_is_said_and_not_written_to(
    lake: Lake, other: LakeTable, tmp_path: Path
) -> None:
    root = tmp_path / "lake/shop/orders"
    root.rename(root.with_name("moved"))
    with pytest.raises(HeadraceError, match="TableNotFoundException") as gone:
        other.begin(ColumnChange())
    assert gone.value.code == "delta.refused"
    assert not root.exists()
    root.with_name("moved").rename(root)
    assert len(other.begin(ColumnChange()).files) == 1


_KILLED = """
import os, signal, sys
from headrace.sinks.delta.format import FORMAT
from headrace.sinks.delta.kernel import Kernel
from headrace.sinks.replicas.lake import ColumnChange, TableName
from headrace.spark.session import build_session
from tests.sinks.lake.delta.applying import apply, batch_properties, planned
folder, jars, when = sys.argv[1:]
session = build_session("killed", master="local[1]", settings={"spark.jars": jars})
table = FORMAT.open(session, {"path": folder}).table(TableName(("shop",), "orders"))
transaction = table.begin(ColumnChange())
change = planned(transaction, [{"id": 1, "name": "killed"}], [2])
if when == "after":
    transaction.commit(change, batch_properties(2))
print("here", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.chaos), "after"])
def test_a_kill_leaves_the_batch_out_or_in_and_files_that_nobody_names(
    when: str, lake: Lake, other: LakeTable, tmp_path: Path, kernel_spark: SparkSession
) -> None:
    folder = tmp_path / "lake"
    jars = kernel_spark.conf.get("spark.jars")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _KILLED, str(folder), str(jars), when]
    killed = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    table = lake.table(ORDERS)
    assert table is not None
    assert table.properties()[BATCH] == ("1" if when == "before" else "2")
    live = {Path(file.path) for file in table.begin(ColumnChange()).files}
    orphans = set((folder / "shop/orders").glob("headrace-*.parquet")) - live
    # After the commit the file whose rows are all replaced is left, which the log removed.
    assert len(orphans) == 1
    apply(table, 2 if when == "before" else 3, [{"id": 1, "name": "again"}], [2])
    assert seen_by_delta_rs(folder / "shop/orders") == [{"id": 1, "name": "again"}]


@pytest.mark.usefixtures("other")
def test_no_temporary_files_are_left_after_errors(
    kernel_spark: SparkSession, tmp_path: Path
) -> None:
    kernel: Any = Kernel(kernel_spark)
    scratch = Path(kernel._scratch.name)
    with pytest.raises(TypeError):
        kernel._rows([{"add": object()}])
    root = str(tmp_path / "lake" / "shop" / "orders")
    files = kernel.live_files(root, kernel.load(root).snapshot)
    next(files)
    assert list(scratch.iterdir())
    files.close()
    assert not list(scratch.iterdir())
