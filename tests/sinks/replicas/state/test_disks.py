"""Disks that fail, and a log of Spark that loses its end with the power."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyarrow.fs import LocalFileSystem

from headrace.errors import HeadraceError
from headrace.sinks.delta.vector_files import read_vector_file, write_vector_file
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.cuts import taking
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.data_files import new_file
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import RESYNC, FirstCopy, ReplicaOptions
from headrace.sinks.replicas.state.resyncing import Resync, resyncs
from headrace.sinks.replicas.state.stopped import StoppedTable, stopped_tables
from tests.sinks.replicas.applying.replay import Change
from tests.sinks.replicas.state.pipelines import Pipeline, insert

FSYNC = os.fsync


def full_from(number: int) -> Callable[[int], None]:
    """An fsync that fails from a call on, as on a full disk."""
    calls = iter(range(1, 1000))

    def synced(descriptor: int) -> None:
        if next(calls) >= number:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        FSYNC(descriptor)

    return synced


def retried(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, end: Callable[[], None]
) -> set[str]:
    """End a micro-batch on a disk that is full, each time a little later, and at last is not;
    returns the messages."""
    messages = set[str]()
    for number in range(1, 100):
        pipeline.sink._replica(pipeline.table.name)
        with monkeypatch.context() as full:
            full.setattr(os, "fsync", full_from(number))
            try:
                end()
                return messages
            except HeadraceError as error:
                messages.add(str(error))
        pipeline.start()
    raise AssertionError(messages)


def test_a_full_disk_of_the_state_folder_is_retried_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_start = SimpleNamespace(place=lambda: 0, close=lambda: None)
    monkeypatch.setattr(taking, "current_rows", lambda _: at_start)
    pipeline = Pipeline(tmp_path, ReplicaOptions(first_copy=FirstCopy.STAGED))
    update = Change(Operation.UPDATE, (1,), {"name": "a2"})
    first_insert, second_insert = insert(1, "a", "x"), insert(2, "b", "y")
    messages = [
        retried(
            pipeline,
            monkeypatch,
            lambda: pipeline.end(0, first_insert, is_settled=True, copies=True),
        ),
        retried(pipeline, monkeypatch, lambda: pipeline.end(1, second_insert, is_settled=True)),
        retried(pipeline, monkeypatch, lambda: pipeline.end(2, update)),
        retried(pipeline, monkeypatch, lambda: pipeline.end(3, is_settled=True)),
    ]
    assert pipeline.rows == {1: ("a2", "x"), 2: ("b", "y")}
    Resync(pipeline.state / RESYNC, pipeline.table.name, "s1").write()
    running = {"tables": [["public.t", "s1", None, None]]}
    ended = {"ended": [["public.t", "s1", "SUCCEEDED"]]}
    messages += [
        retried(
            pipeline,
            monkeypatch,
            lambda: pipeline.end(4, first_insert, is_settled=True, signals=running),
        ),
        retried(pipeline, monkeypatch, lambda: pipeline.end(5, is_settled=True, signals=ended)),
    ]
    assert pipeline.rows == {1: ("a", "x")}
    assert all("retriable" in text for each in messages for text in each)
    for each in messages:
        assert any(
            f"The folder {pipeline.state} of the sink's state cannot be used (No space left" in text
            for text in each
        ), each


def test_a_state_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path)
    pipeline.end(0, insert(1, "a", "x"), is_settled=True)
    (pipeline.state / "waiting").write_text("not a folder")
    with pytest.raises(HeadraceError, match=rf"{pipeline.state} .*waiting") as caught:
        pipeline.end(1, Change(Operation.UPDATE, (1,), {"name": "b"}))
    assert caught.value.code == "replicas.state_not_writable"
    assert caught.value.retriable


def test_a_folder_of_tables_that_cannot_be_written_is_named_and_retried(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("not a folder")
    disk, name = LocalFileSystem(), TableName((), "t")

    def write_data() -> None:
        with new_file(disk, f"{tmp_path}/t/f.parquet"):
            pass

    def read_vector() -> None:
        vector = write_vector_file(disk, f"{tmp_path}/{name}2", bitmap([1]), "headrace-1")
        read_vector_file(disk, f"{tmp_path}/{name}", vector)

    for act in (
        write_data,
        lambda: write_vector_file(disk, f"{tmp_path}/{name}", bitmap([1]), "headrace-1"),
        read_vector,
    ):
        with pytest.raises(HeadraceError, match=f"The folder {tmp_path}/t") as caught:
            act()
        assert caught.value.code == "replicas.storage_failed"
        assert caught.value.retriable


def test_the_plan_of_a_micro_batch_is_on_the_disk_before_a_table_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Pipeline(tmp_path)
    forced: list[tuple[str, int]] = []

    def synced(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").resolve()
        forced.append((path.name, pipeline.table.commits))
        FSYNC(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    pipeline.end(0, insert(1, "a", "x"), is_settled=True)
    assert pipeline.table.commits == 1
    assert ("0", 0) in forced
    assert ("offsets", 0) in forced


def test_files_that_another_process_deletes_while_they_are_listed_are_left_out(
    tmp_path: Path,
) -> None:
    names = [TableName((), name) for name in ("a", "b")]
    for name in names:
        Resync(tmp_path / "resync", name, "s").write()
        StoppedTable(tmp_path / "stopped", name).stop(HeadraceError("x.y", "m", "r"))
    requests, stops = resyncs(tmp_path / "resync"), stopped_tables(tmp_path / "stopped")
    assert (next(requests).name, next(stops).name) == (names[0], names[0])
    Resync(tmp_path / "resync", names[1], "s").finish()
    StoppedTable(tmp_path / "stopped", names[1]).resume()
    assert not [*requests, *stops]
