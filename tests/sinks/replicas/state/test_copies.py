"""A table that is copied again loses its former rows when the copy is whole, and only then."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableChange
from headrace.sinks.replicas.options import RESYNC
from headrace.sinks.replicas.state.resyncing import Resync, resyncs
from headrace.sinks.replicas.state.stopped import StoppedTable
from tests.sinks.replicas.state.pipelines import Pipeline, insert

SETTLED = {"is_settled": True}


def running(signal: str = "s1") -> dict[str, object]:
    """A part of an offset: the snapshot of a signal goes on."""
    return {"tables": [["public.t", signal, None, None]]}


def ended(status: str, table: str = "public.t") -> dict[str, object]:
    """A part of an offset: the snapshot of the signal ended in this range."""
    return {"ended": [[table, "s1", status]]}


def stopped(pipeline: Pipeline) -> list[dict[str, str]]:
    paths = sorted((pipeline.state / "stopped").glob("*/error.json"))
    return [json.loads(path.read_text()) for path in paths]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """A pipeline whose table has three rows, of which the source has two, and is about to be copied
    again."""
    new_pipeline = Pipeline(tmp_path)
    new_pipeline.end(0, insert(1, "a", "x"), insert(2, "b", "x"), insert(3, "gone", "x"), **SETTLED)
    Resync(new_pipeline.state / RESYNC, new_pipeline.table.name, "s1").write()
    return new_pipeline


def requests(pipeline: Pipeline) -> list[Resync]:
    return list(resyncs(pipeline.state / RESYNC))


def test_a_whole_copy_takes_the_place_of_the_former_rows(pipeline: Pipeline) -> None:
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}
    pipeline.end(2, insert(2, "b2", "x"), signals=ended("SUCCEEDED"), **SETTLED)
    assert pipeline.rows == {1: ("a2", "x"), 2: ("b2", "x")}
    pipeline.end(2, insert(2, "b2", "x"), signals=ended("SUCCEEDED"), **SETTLED)  # once more
    assert pipeline.rows == {1: ("a2", "x"), 2: ("b2", "x")}
    assert not stopped(pipeline)
    assert not requests(pipeline)


def test_a_table_that_is_empty_at_the_source_is_empty_at_once(pipeline: Pipeline) -> None:
    pipeline.end(1, signals=ended("EMPTY"), **SETTLED)
    assert pipeline.rows == {}
    assert not stopped(pipeline)
    assert not requests(pipeline)


GIVEN_UP = [ended("ABORTED"), ended("SKIPPED"), ended("IGNORED", "")]


@pytest.mark.parametrize("signals", [*GIVEN_UP, ended("NO_PRIMARY_KEY")])
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_copy_that_does_not_begin_leaves_the_table_as_it_is(
    pipeline: Pipeline, signals: dict[str, object], is_stopped: bool
) -> None:
    if is_stopped:
        error = HeadraceError("replicas.no_key", "it has no key", "Name one.")
        StoppedTable(pipeline.state / "stopped", pipeline.table.name).stop(error)
    pipeline.end(1, insert(4, "kept", "x"), signals=signals, **SETTLED)
    pipeline.end(2, insert(5, "later", "x"), **SETTLED)
    assert not requests(pipeline)
    assert len(stopped(pipeline)) == is_stopped
    pipeline.start()
    assert set(pipeline.rows) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("signals", GIVEN_UP)
def test_a_copy_that_is_given_up_stops_the_table_with_the_rows_that_it_has(
    pipeline: Pipeline, signals: dict[str, object]
) -> None:
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    pipeline.end(2, signals=signals, **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}
    (error,) = stopped(pipeline)
    assert error["code"] == "replicas.copy_incomplete"
    assert "headrace resync FILE topic --checkpoint" in error["remedy"]
    assert not requests(pipeline)
    pipeline.end(3, insert(4, "later", "x"), **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}


def test_the_end_of_another_snapshot_ends_no_copy(pipeline: Pipeline) -> None:
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    others = {"ended": [["public.t", "s0", "SUCCEEDED"], ["public.u", "s2", "ABORTED"]]}
    pipeline.end(2, signals=running() | others, **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}
    assert len(requests(pipeline)) == 1


def test_a_replica_of_several_tables_is_whole_when_all_of_them_were_copied(
    pipeline: Pipeline,
) -> None:
    folder, name = pipeline.state / RESYNC, pipeline.table.name
    Resync(folder, name, "s1", tables=("public.t", "public.u")).write()
    first = ended("SUCCEEDED", "public.u") | running()
    pipeline.end(1, insert(1, "a2", "x"), signals=first, **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}
    others = {"ended": [["public.v", "s1", "ABORTED"]]}
    pipeline.end(2, signals=running() | others, **SETTLED)
    pipeline.end(3, signals=ended("SUCCEEDED"), **SETTLED)
    assert set(pipeline.rows) == {1}
    assert not stopped(pipeline)


def test_files_that_are_merged_while_the_table_is_copied_stop_it(pipeline: Pipeline) -> None:
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    transaction = pipeline.table.begin()
    schema = [(column.name, column.type) for column in transaction.storage.schema.columns]
    rows = pa.Table.from_pylist(pipeline.table.rows(), schema=pa.schema(schema))
    merged = transaction.storage.write_rows(rows, "part-00000")
    transaction.commit(TableChange(removed=list(transaction.files), added=[merged]), {})
    pipeline.end(2, insert(2, "b2", "x"), signals=ended("SUCCEEDED"), **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}
    (error,) = stopped(pipeline)
    assert error["code"] == "replicas.copy_incomplete"
    assert "part-00000" in error["message"]
    # With the compaction at rest, another copy repairs it.
    Resync(pipeline.state / RESYNC, pipeline.table.name, "s1").write()
    both = (insert(1, "a3", "x"), insert(2, "b3", "x"))
    pipeline.end(3, *both, signals=ended("SUCCEEDED"), **SETTLED)
    assert pipeline.rows == {1: ("a3", "x"), 2: ("b3", "x")}
    assert not stopped(pipeline)


def test_a_copy_whose_end_an_earlier_version_saw_stops_the_table(pipeline: Pipeline) -> None:
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    pipeline.end(2, lsn=7, **SETTLED)
    assert set(pipeline.rows) == {1, 2, 3}
    assert [error["code"] for error in stopped(pipeline)] == ["replicas.copy_incomplete"]
