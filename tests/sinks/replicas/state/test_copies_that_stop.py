"""Copies of tables that stop, that are requested once more, and that a kill interrupts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.options import RESYNC, ReplicaOptions
from headrace.sinks.replicas.state.resyncing import Resync, resyncs
from tests.sinks.replicas.applying.replay import Truncate
from tests.sinks.replicas.state.pipelines import Pipeline, insert, move

SETTLED = {"is_settled": True}
DENIED = HeadraceError("replicas.storage_failed", "s3://b: ACCESS_DENIED", "Correct the keys.")


class Killed(BaseException):
    """The process is killed."""


def running(signal: str = "s1") -> dict[str, object]:
    """A part of an offset: the snapshot of a signal is in progress."""
    return {"tables": [["public.t", signal, None, None]]}


def ended(signal: str = "s1") -> dict[str, object]:
    """A part of an offset: the snapshot of a signal ended in this range."""
    return {"ended": [["public.t", signal, "SUCCEEDED"]]}


def codes(pipeline: Pipeline) -> list[str]:
    paths = pipeline.state.glob("stopped/*/error.json")
    return [json.loads(path.read_text())["code"] for path in paths]


def request(pipeline: Pipeline, signal: str = "s1") -> None:
    Resync(pipeline.state / RESYNC, pipeline.table.name, signal).write()


def signals(pipeline: Pipeline) -> list[str]:
    return [each.signal for each in resyncs(pipeline.state / RESYNC)]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """A pipeline whose table has three rows. The source has rows 1, 2 and 4."""
    new_pipeline = Pipeline(tmp_path)
    new_pipeline.end(0, insert(1, "a", "x"), insert(2, "b", "x"), insert(3, "gone", "x"), **SETTLED)
    return new_pipeline


@contextmanager
def refusing(pipeline: Pipeline) -> Iterator[None]:
    """The table takes no changes."""
    replica: Any = pipeline.sink._replica(pipeline.table.name)

    def refuse(*_: object, **__: object) -> None:
        raise DENIED

    replica.apply = refuse
    try:
        yield
    finally:
        del replica.apply


@pytest.mark.parametrize("ends_first", [False, True])
def test_a_table_that_stops_while_it_is_copied_needs_another_copy(
    pipeline: Pipeline, ends_first: bool
) -> None:
    request(pipeline)
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    with refusing(pipeline):
        pipeline.end(2, insert(2, "b2", "x"), signals=running(), **SETTLED)
    assert codes(pipeline) == ["replicas.storage_failed"]
    assert not signals(pipeline)
    if ends_first:
        pipeline.end(3, insert(4, "d2", "x"), signals=ended(), **SETTLED)
        pipeline.start()
    else:
        pipeline.start()
        pipeline.end(3, insert(4, "d2", "x"), signals=ended(), **SETTLED)
    assert codes(pipeline) == ["replicas.storage_failed"]
    assert "ACCESS_DENIED" in pipeline.sink.figures()["topic"]["error"]
    (error,) = pipeline.state.glob("stopped/*/error.json")
    assert "headrace resync FILE topic" in json.loads(error.read_text())["remedy"]

    request(pipeline, "s2")
    rows = insert(1, "a3", "x"), insert(2, "b3", "x"), insert(4, "d3", "x")
    pipeline.end(4, *rows, signals=ended("s2"), **SETTLED)
    assert pipeline.rows == {1: ("a3", "x"), 2: ("b3", "x"), 4: ("d3", "x")}
    assert not codes(pipeline)


def test_a_kill_between_the_stop_and_the_end_of_a_copy_loses_neither(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    request(pipeline)
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)

    def kill(_: Resync) -> None:
        raise Killed

    monkeypatch.setattr(Resync, "finish", kill)
    with refusing(pipeline), pytest.raises(Killed):
        pipeline.end(2, insert(2, "b2", "x"), signals=running(), **SETTLED)
    monkeypatch.undo()
    pipeline.start()
    pipeline.end(2, insert(2, "b2", "x"), signals=running(), **SETTLED)
    assert codes(pipeline) == ["replicas.storage_failed"]
    assert not signals(pipeline)


@pytest.mark.parametrize("is_killed", [False, True])
def test_rows_that_a_copy_leaves_out_are_counted_once_whatever_is_killed(
    pipeline: Pipeline, is_killed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    request(pipeline)
    changes = insert(1, "a2", "x"), *move(9, 4, "moved")
    if is_killed:
        apply = pipeline.sink._waiting.apply

        def kill(*arguments: Any) -> None:
            apply(*arguments)
            raise Killed

        monkeypatch.setattr(pipeline.sink._waiting, "apply", kill)
        with pytest.raises(Killed):
            pipeline.end(1, *changes, signals=running(), **SETTLED)
        pipeline.start()
    pipeline.end(1, *changes, signals=running(), **SETTLED)
    (copy,) = resyncs(pipeline.state / RESYNC)
    assert copy.lost + copy.lost_in_batch == 1
    pipeline.end(2, insert(2, "b2", "x"), signals=ended(), **SETTLED)
    assert codes(pipeline) == ["replicas.copy_incomplete"]


def test_a_copy_that_is_requested_while_another_one_ends_is_not_lost(pipeline: Pipeline) -> None:
    request(pipeline)
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    commit = pipeline.sink._commit

    def meanwhile(*arguments: Any) -> None:
        commit(*arguments)
        request(pipeline, "s2")

    pipeline.sink._commit = meanwhile  # type: ignore[method-assign]
    pipeline.end(2, insert(2, "b2", "x"), signals=ended(), **SETTLED)
    pipeline.sink._commit = commit  # type: ignore[method-assign]
    assert set(pipeline.rows) == {1, 2}
    assert signals(pipeline) == ["s2"]
    pipeline.end(3, insert(1, "a3", "x"), signals=running("s2"), **SETTLED)
    pipeline.end(4, insert(4, "d3", "x"), signals=ended("s2"), **SETTLED)
    assert pipeline.rows == {1: ("a3", "x"), 4: ("d3", "x")}


def test_a_copy_that_is_requested_during_another_one_begins_with_its_own_rows(
    pipeline: Pipeline,
) -> None:
    request(pipeline)
    pipeline.end(1, insert(1, "a2", "x"), signals=running(), **SETTLED)
    request(pipeline, "s2")
    pipeline.end(2, insert(2, "b2", "x"), signals=running(), **SETTLED)
    assert signals(pipeline) == ["s2", "s1"]
    both = {**running("s2"), **ended()}
    pipeline.end(3, insert(4, "d2", "x"), signals=both, **SETTLED)
    assert signals(pipeline) == ["s2"]
    assert set(pipeline.rows) == {1, 2, 3, 4}
    rows = insert(1, "a3", "x"), insert(2, "b3", "x"), insert(4, "d3", "x")
    pipeline.end(4, *rows, signals=ended("s2"), **SETTLED)
    assert set(pipeline.rows) == {1, 2, 4}
    assert not signals(pipeline)


def test_a_request_without_its_signal_leaves_a_stopped_table_as_it_is(pipeline: Pipeline) -> None:
    with refusing(pipeline):
        pipeline.end(1, insert(4, "d", "x"), **SETTLED)
    request(pipeline)
    pipeline.end(2, insert(5, "e", "x"), **SETTLED)
    assert codes(pipeline) == ["replicas.storage_failed"]
    pipeline.start()
    assert not codes(pipeline)
    assert set(pipeline.rows) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_truncate_of_one_of_several_tables_empties_no_replica(
    tmp_path: Path, is_stopped: bool
) -> None:
    pipeline = Pipeline(tmp_path, ReplicaOptions(merges=True))
    pipeline.sink._sources[pipeline.table.name] = {"public.t": None, "public.u": None}
    pipeline.end(0, insert(1, "of t", "x"), insert(2, "of u", "x"), **SETTLED)
    if is_stopped:
        with refusing(pipeline):
            pipeline.end(1, insert(3, "of u", "x"), **SETTLED)
    pipeline.end(2, Truncate(), insert(4, "of t", "x"), **SETTLED)
    assert codes(pipeline) == ["replicas.truncated_in_part"]
    pipeline.start()
    assert codes(pipeline) == ["replicas.truncated_in_part"]
    assert set(pipeline.rows) == {1, 2}
