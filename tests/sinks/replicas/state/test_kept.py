"""Changes that are kept beside a table are whole whenever the process is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.part import Operation, Part
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import FirstCopy, ReplicaOptions
from headrace.sinks.replicas.state import kept, stopped
from headrace.sinks.replicas.state.kept import KeptChanges, WaitingTable, waiting_tables
from headrace.sinks.replicas.state.stopped import StoppedTable
from tests.sinks.replicas.applying.replay import Change, write_part
from tests.sinks.replicas.state.pipelines import SCHEMA, Pipeline, insert

STEPS = ((kept.os, "link"), (kept, "force_to_disk"), (kept, "replace_text"),
         (kept.shutil, "rmtree"), (stopped, "replace_text"), (Path, "unlink"))  # fmt: skip


class Killed(BaseException):
    """The process ends here."""


def kills(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> Iterator[int]:
    """Do something again and again, which is killed before another one of its changes of the disk
    each time; in the end it is done without."""
    for number in range(1, 100):
        left = [number]

        def counted(real: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
            def step(*arguments: Any, **named: Any) -> Any:
                left[0] -= 1
                if left[0] == 0:
                    raise Killed
                return real(*arguments, **named)

            return step

        with monkeypatch.context() as patched:
            for owner, name in STEPS:
                patched.setattr(owner, name, counted(getattr(owner, name), left))
            try:
                act()
            except Killed:
                pass
            else:
                assert number > 3, "nothing was killed"
                return
        yield number


def values(changes: KeptChanges) -> list[bytes]:
    """The contents of the files that notes name."""
    return [
        (changes.folder / part.path).read_bytes() for *_, parts in changes.kept() for part in parts
    ]


def test_a_micro_batch_that_is_kept_again_is_there_in_one_form_or_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = KeptChanges(tmp_path / "stopped", TableName((), "t"))
    changes.folder.mkdir(parents=True)

    def part(name: str) -> Part:
        (tmp_path / name).mkdir()
        change = [(1, Change(Operation.INSERT, (1,), {"name": name}))]
        return write_part(tmp_path / name, "7-source-0", change, SCHEMA)

    former, later = [part("former")], [part("later")]
    changes.keep(7, "{}", former, tmp_path / "former")
    (old,) = values(changes)
    for _ in kills(monkeypatch, lambda: changes.keep(7, "{}", later, tmp_path / "later")):
        assert values(changes) in ([old], [(tmp_path / "later" / later[0].path).read_bytes()])
    assert values(changes) == [(tmp_path / "later" / later[0].path).read_bytes()]
    assert len(list(changes.folder.iterdir())) == 2
    changes.drop(7)
    assert not list(changes.folder.iterdir())


def test_a_table_that_stops_with_changes_that_wait_keeps_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipelines: list[Pipeline] = []

    def stop() -> None:
        folder = tmp_path / str(len(pipelines))
        folder.mkdir()
        pipelines.append(Pipeline(folder))
        pipelines[-1].end(0, insert(1, "a", "x"))
        pipelines[-1].end(1, Change(Operation.UPDATE, (9,), {"name": "lost"}))
        pipelines[-1].end(2, Change(Operation.DELETE, (1,)), is_settled=True)

    for _ in kills(monkeypatch, stop):
        pipeline = pipelines[-1]
        pipeline.start()
        pipeline.end(1, Change(Operation.UPDATE, (9,), {"name": "lost"}))
        pipeline.end(2, Change(Operation.DELETE, (1,)), is_settled=True)
        pipeline.start()
        pipeline.end(3, insert(2, "b", "x"), is_settled=True)
        (error,) = (pipeline.state / "stopped").glob("*/error.json")
        notes = {path.name for path in error.parent.glob("[0-9].json")}
        assert notes == {"1.json", "2.json", "3.json"}
        assert len(values(KeptChanges(pipeline.state / "stopped", pipeline.table.name))) == 3
        assert not list(waiting_tables(pipeline.state / "waiting"))


def test_changes_that_a_killed_run_was_about_to_forget_do_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = [(1, Change(Operation.INSERT, (1,), {"name": "former"}))]
    part = write_part(tmp_path, "7-source-0", change, SCHEMA)
    waiting = WaitingTable(tmp_path, TableName((), "w"))
    stopped_table = StoppedTable(tmp_path, TableName((), "s"))
    error = HeadraceError("replicas.truncated", "m", "r")
    acts: list[tuple[KeptChanges, Callable[[], None], Callable[[], None]]] = [
        (waiting, waiting.begin, waiting.forget),
        (stopped_table, lambda: stopped_table.stop(error), stopped_table.resume),
    ]
    for table, begin, forget in acts:
        begin()
        table.keep(7, "{}", [part], tmp_path)
        with monkeypatch.context() as killed:
            killed.setattr(kept.shutil, "rmtree", lambda *_, **__: None)
            forget()
        assert values(table)
        begin()
        assert not values(table)


def test_a_micro_batch_that_is_kept_again_counts_once(tmp_path: Path) -> None:
    def staged(folder: Path, kept_bytes: int = 1 << 30) -> Pipeline:
        folder.mkdir()
        return Pipeline(folder, ReplicaOptions(first_copy=FirstCopy.STAGED, kept_bytes=kept_bytes))

    def read(pipeline: Pipeline) -> None:
        pipeline.end(0, insert(1, "a", "l" * 20000), is_settled=True, copies=True)

    first = staged(tmp_path / "first")
    read(first)
    (part,) = (first.state / "staged").rglob("*.arrow")
    limited = staged(tmp_path / "limited", int(part.stat().st_size * 1.5))
    read(limited)
    read(limited)
    with pytest.raises(HeadraceError, match="would take"):
        limited.end(1, insert(2, "b", "l" * 20000), is_settled=True, copies=True)

    refused = HeadraceError("replicas.truncated", "m", "r")
    (tmp_path / "stopped").mkdir()
    limit = int(part.stat().st_size * 1.5)
    pipeline = Pipeline(tmp_path / "stopped", ReplicaOptions(kept_bytes=limit))
    StoppedTable(pipeline.state / "stopped", pipeline.table.name).stop(refused)
    for _ in range(2):
        pipeline.end(0, insert(1, "a", "l" * 20000), is_settled=True)
    with pytest.raises(HeadraceError, match="would take"):
        pipeline.end(1, insert(2, "b", "l" * 20000), is_settled=True)
