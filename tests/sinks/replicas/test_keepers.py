"""Writers of a replica: one query, and others that do not change its rows."""

from __future__ import annotations

import shutil

import pytest

from headrace.sinks.delta.format import FORMAT as DELTA
from headrace.sinks.iceberg.format import FORMAT as ICEBERG
from headrace.sinks.replicas.applying import batches
from headrace.sinks.replicas.files import compacting
from headrace.sinks.replicas.lake import ColumnChange, TableName
from tests.sinks.lake.jars import require_delta
from tests.sinks.lake.readers import IN_TURN, IcebergLake
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

of_every_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)
FORMATS = {each.name: each for each in (ICEBERG, DELTA)}


def fill(replication: Replication, first: int, last: int) -> None:
    replication.database.execute(
        f"INSERT INTO t SELECT i, 'v' || i FROM generate_series({first}, {last}) i"
    )


@of_every_format
def test_a_second_copy_of_a_pipeline_is_refused_or_replaces_the_rows_of_the_first(
    replication: Replication,
) -> None:
    database = replication.database
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    database.execute("CREATE TABLE emptied (id int PRIMARY KEY)")
    database.execute("INSERT INTO emptied VALUES (1)")
    fill(replication, 1, 100)
    replication.run()
    replication.assert_equal("t", "id", "v")
    version = replication.lake.version("public", "t")

    second = replication.copy("second")
    error = second.error()
    assert error.code == "replicas.other_keeper", error
    assert "public." in error.message
    assert replication.lake.version("public", "t") == version

    database.execute("DELETE FROM t WHERE id <= 50; UPDATE t SET v = 'w' WHERE id > 90")
    database.execute("DELETE FROM emptied")
    third = replication.copy("third")
    third.run(existing="replace")
    third.assert_equal("t", "id", "v")
    third.assert_equal("emptied", "id")
    fill(replication, 101, 120)
    third.run()
    third.assert_equal("t", "id", "v")

    # The first one is fenced: its copy is over, so it could not replace the rows that it removes.
    for existing in ("fail", "replace"):
        error = replication.error(existing=existing)
        assert error.code == "replicas.other_keeper", error
        assert "begin with a new checkpoint" in error.remedy
        third.assert_equal("t", "id", "v")


@pytest.mark.chaos
@of_every_format
def test_a_compaction_by_another_process_between_begin_and_commit_is_kept(
    replication: Replication, monkeypatch: pytest.MonkeyPatch
) -> None:
    replication.database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    for first in range(1, 160, 20):
        fill(replication, first, first + 19)
        replication.run()
    lake, compacted = replication.lake, []
    before = lake.files("public", "t")
    apply_batch = batches.apply_batch

    def with_compaction(*arguments: object, **named: object) -> object:
        """The other process has planned before, and commits after the files are written."""
        if compacted:
            return apply_batch(*arguments, **named)
        name, options = lake.option, {lake.option: str(lake.folder)}
        other = FORMATS[lake.name].open(replication.spark, options)
        table = other.table(TableName(("public",), "t"))
        transaction = table.begin(ColumnChange())
        change = compacting.compact(transaction, f"other-{name}")
        applied = apply_batch(*arguments, **named)
        transaction.commit(change, {})
        compacted.append(change)
        other.close()
        return applied

    monkeypatch.setattr(batches, "apply_batch", with_compaction)
    replication.database.execute(
        "UPDATE t SET v = 'w' WHERE id % 9 = 0; DELETE FROM t WHERE id < 9"
    )
    fill(replication, 1001, 1020)
    replication.run()
    replication.assert_equal("t", "id", "v")
    assert compacted
    assert lake.files("public", "t") < before
    replication.database.execute("UPDATE t SET v = 'x' WHERE id % 4 = 0")
    replication.run()
    replication.assert_equal("t", "id", "v")


@pytest.mark.chaos
@pytest.mark.parametrize("replication", ["delta"], indirect=True)
def test_an_optimize_by_spark_is_kept(replication: Replication) -> None:
    require_delta(replication.spark)
    replication.database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    for first in range(1, 40, 20):
        fill(replication, first, first + 19)
        replication.run()
    before = replication.lake.files("public", "t")
    replication.spark.sql(f"OPTIMIZE delta.`{replication.lake.folder}/public/t`").collect()
    assert replication.lake.files("public", "t") < before
    replication.database.execute(
        "UPDATE t SET v = 'w' WHERE id % 9 = 0; DELETE FROM t WHERE id < 9"
    )
    replication.run()
    replication.assert_equal("t", "id", "v")


@of_every_format
def test_a_column_that_somebody_else_adds_stays(replication: Replication) -> None:
    database, lake = replication.database, replication.lake
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    fill(replication, 1, 10)
    replication.run()
    lake.add_column("public", "t", "note")
    database.execute("UPDATE t SET v = 'w' WHERE id < 4; DELETE FROM t WHERE id = 5")
    replication.run()
    database.execute("ALTER TABLE t RENAME v TO late; ALTER TABLE t ADD added int DEFAULT 7")
    database.execute("UPDATE t SET late = 'x', id = id + 100 WHERE id > 8")
    replication.run()
    replication.assert_equal("t", "id", "late", "added")
    assert lake.table("public", "t").column_names == ["id", "late", "note", "added"]
    assert {row["note"] for row in lake.rows("public", "t")} == {None}

    database.execute("ALTER TABLE t ADD note text; UPDATE t SET note = 'of the source'")
    replication.run()
    assert replication.stopped == ["public.t"]


@pytest.mark.chaos
@pytest.mark.parametrize("replication", ["iceberg"], indirect=True)
def test_a_column_of_the_source_that_somebody_else_drops_stops_the_table(
    replication: Replication,
) -> None:
    replication.database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    fill(replication, 1, 10)
    replication.run()
    assert isinstance(replication.lake, IcebergLake)
    replication.lake.drop_column("public", "t", "v")
    replication.database.execute("UPDATE t SET v = 'w' WHERE id < 4")
    replication.run()
    assert replication.stopped == ["public.t"]


@pytest.mark.chaos
@pytest.mark.parametrize("replication", ["delta"], indirect=True)
def test_two_tables_whose_names_become_one_are_refused(replication: Replication) -> None:
    replication.database.execute(
        'CREATE TABLE "a b" (id int PRIMARY KEY); CREATE TABLE a_b (id int PRIMARY KEY);'
        'INSERT INTO "a b" VALUES (1); INSERT INTO a_b VALUES (1)'
    )
    error = replication.error()
    assert error.code == "replicas.shared_name", error
    assert "public.a b" in error.message
    assert "public.a_b" in error.message


@of_every_format
def test_a_checkpoint_from_a_backup_is_refused(replication: Replication) -> None:
    replication.database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    fill(replication, 1, 10)
    replication.run()
    backup = replication.state.with_name("backup")
    shutil.copytree(replication.state, backup)
    fill(replication, 11, 20)
    replication.run()
    newest = replication.state.with_name("newest")
    replication.state.rename(newest)
    backup.rename(replication.state)
    fill(replication, 21, 30)
    error = replication.error()
    assert error.code == "replicas.older_checkpoint", error
    shutil.rmtree(replication.state)
    newest.rename(replication.state)
    replication.run()
    replication.assert_equal("t", "id", "v")
