"""Replicas of a database whose log was lost, and whose rows are read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.config.filters import NameFilter
from headrace.connect.deadline import Deadline
from headrace.sinks.replicas.options import RESYNC
from headrace.sinks.replicas.state.resyncing import resyncs
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.state.pipelines import Pipeline, insert

SETTLED = {"is_settled": True}
READING = {"snapshot": {"table": 0}}


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """A pipeline whose first copy is over."""
    new_pipeline = Pipeline(tmp_path)
    new_pipeline.sink._sources[new_pipeline.table.name] = {"public.t": None}
    new_pipeline.end(0, insert(1, "a", "x"), epoch=1, **READING, **SETTLED)
    new_pipeline.end(1, insert(2, "b", "x"), insert(3, "gone", "x"), epoch=1, **SETTLED)
    return new_pipeline


def test_rows_that_were_deleted_meanwhile_are_gone_when_all_are_read(pipeline: Pipeline) -> None:
    pipeline.end(2, epoch=2, **READING, **SETTLED)
    pipeline.end(3, insert(1, "a2", "x"), epoch=2, **READING, **SETTLED)
    pipeline.end(3, insert(1, "a2", "x"), epoch=2, **READING, **SETTLED)  # it comes again
    assert set(pipeline.rows) == {1, 2, 3}
    pipeline.end(4, insert(2, "b2", "x"), epoch=2, **SETTLED)
    assert pipeline.rows == {1: ("a2", "x"), 2: ("b2", "x")}
    pipeline.end(5, insert(4, "later", "x"), epoch=2, **SETTLED)
    assert set(pipeline.rows) == {1, 2, 4}
    assert not list(resyncs(pipeline.state / RESYNC))


def test_a_first_copy_that_begins_again_is_no_other_one(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.sink._sources[pipeline.table.name] = {"public.t": None}
    pipeline.end(0, insert(1, "a", "x"), epoch=1, **READING)
    pipeline.end(1, epoch=2, **READING)
    assert not list(resyncs(pipeline.state / RESYNC))


def test_rows_that_were_deleted_are_gone_when_the_log_is_lost_during_the_first_copy(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.sink._sources[pipeline.table.name] = {"public.t": None}
    pipeline.end(0, insert(1, "a", "x"), insert(2, "gone", "x"), epoch=1, **READING)
    pipeline.end(1, epoch=2, gap=True, **READING)
    pipeline.end(2, insert(1, "a2", "x"), epoch=2, gap=True, **READING)
    pipeline.end(3, insert(3, "c2", "x"), epoch=2, gap=True, **SETTLED)
    assert pipeline.rows == {1: ("a2", "x"), 3: ("c2", "x")}
    assert not list(resyncs(pipeline.state / RESYNC))


def test_a_table_that_the_snapshot_leaves_out_stops(pipeline: Pipeline) -> None:
    pipeline.filter = NameFilter([r"public\.u"])
    pipeline.end(2, epoch=2, **READING, **SETTLED)
    pipeline.end(3, epoch=2, **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}
    assert list(pipeline.state.glob("stopped/*/error.json"))


@pytest.mark.spark
@pytest.mark.postgres
@pytest.mark.parametrize("replication", ["delta"], indirect=True)
def test_a_replica_equals_its_source_after_the_slot_was_lost(replication: Replication) -> None:
    database, needed = replication.database, {"snapshot.mode": "when_needed"}
    for table in ("a", "emptied"):
        database.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text)")
        database.execute(f"INSERT INTO {table} SELECT i, 'v' FROM generate_series(1, 100) i")
    replication.run(needed)
    database.drop_slot()
    database.execute("DELETE FROM a WHERE id <= 50; DELETE FROM emptied; UPDATE a SET v = 'w'")
    replication.run(needed)
    replication.assert_equal("a", "id", "v")
    replication.assert_equal("emptied", "id", "v")
    database.execute("DELETE FROM a WHERE id > 90; INSERT INTO emptied VALUES (1, 'later')")
    replication.run(needed)
    replication.assert_equal("a", "id", "v")
    replication.assert_equal("emptied", "id", "v")
    assert replication.stopped == []


@pytest.mark.spark
@pytest.mark.postgres
@pytest.mark.parametrize("replication", ["iceberg"], indirect=True)
def test_a_replica_equals_its_source_after_the_slot_was_lost_during_the_first_copy(
    replication: Replication,
) -> None:
    database = replication.database
    needed = {"snapshot.mode": "when_needed", "headrace.snapshot.chunk.bytes": "8kB"}
    database.execute("CREATE TABLE a (id int PRIMARY KEY, v text)")
    database.execute("INSERT INTO a SELECT i, 'v' FROM generate_series(1, 5000) i")
    query = replication.start(needed, trigger="0 seconds")
    try:
        deadline = Deadline(120)
        while not (query.lastProgress and replication.rows("a", "id")):
            assert not deadline.is_over
            deadline.pause(0.1)
    finally:
        query.stop()
    assert len(replication.rows("a", "id")) < 5000
    database.drop_slot()
    database.execute("DELETE FROM a WHERE id <= 50 OR id > 4900; UPDATE a SET v = 'w'")
    replication.run({"snapshot.mode": "when_needed"})
    replication.assert_equal("a", "id", "v")
    assert replication.stopped == []
