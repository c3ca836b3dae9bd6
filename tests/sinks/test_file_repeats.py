"""A micro-batch that comes again, with the same content or another: the output holds it once.

Spark does not force its log to the disk, so a power failure, or a checkpoint that was restored
from a copy, can take its last entry; then the same number is planned again, and may reach
farther, or not as far.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import FilePart
from tests.sinks.parts import Stop, values, write_part
from tests.spark.supervised import Run, await_lines, ids


@pytest.fixture
def output(tmp_path: Path) -> Output:
    output = Output(tmp_path / "out.jsonl", tmp_path / "state")
    output.open()
    commit(output, 1, range(5))
    commit(output, 2, range(5, 10))
    return output


def parts_of(output: Output, batch: int, sequences: range, *, slices: int = 2) -> list[FilePart]:
    size = max(1, -(-len(sequences) // slices))
    pieces = [sequences[at : at + size] for at in range(0, len(sequences), size)]
    folder = output.path.parent
    return [write_part(folder, batch, number, piece) for number, piece in enumerate(pieces)]


def commit(output: Output, batch: int, sequences: range, *, slices: int = 2) -> None:
    output.commit(parts_of(output, batch, sequences, slices=slices), batch, "q")


@pytest.mark.parametrize("end", [6, 9, 11, 40])
@pytest.mark.parametrize("slices", [1, 3])
def test_a_batch_that_was_planned_again_takes_the_place_of_the_first_one(output, end, slices):
    commit(output, 2, range(5, end), slices=slices)
    assert values(output) == list(range(end))
    assert output.rows() == end
    commit(output, 3, range(end, end + 3))
    assert values(output) == list(range(end + 3))
    assert output.rows() == end + 3


def test_a_batch_that_was_planned_again_may_be_empty(output):
    output.commit([], 2, "q")
    assert values(output) == list(range(5))
    commit(output, 3, range(5, 12))
    assert values(output) == list(range(12))


def test_the_same_batch_again_leaves_the_output_alone(output):
    changed = output.path.stat().st_mtime_ns
    commit(output, 2, range(5, 10), slices=5)
    assert output.path.stat().st_mtime_ns == changed
    assert values(output) == list(range(10))


def test_empty_batches_between_do_not_matter(output):
    output.commit([], 3, "q")
    output.commit([], 4, "q")
    commit(output, 4, range(10, 13))
    assert values(output) == list(range(13))
    commit(output, 4, range(10, 12))
    assert values(output) == list(range(12))


def test_a_batch_before_the_last_one_is_refused_and_says_which_is_the_last(output):
    with pytest.raises(HeadraceError, match=r"file\.other_checkpoint") as raised:
        commit(output, 1, range(7))
    assert "micro-batches up to 2 of this query" in raised.value.message
    assert values(output) == list(range(10))


def test_an_empty_batch_of_an_unknown_query_removes_nothing(output):
    output.commit([], 2, "")
    assert values(output) == list(range(10))


def test_the_same_number_of_another_query_is_refused(output):
    with pytest.raises(HeadraceError, match=r"file\.other_checkpoint"):
        output.commit(parts_of(output, 2, range(5, 12)), 2, "other")
    with pytest.raises(HeadraceError, match=r"file\.other_checkpoint"):
        output.commit([], 2, "other")
    assert values(output) == list(range(10))


@pytest.mark.parametrize("call", ["os.fsync", "os.write", "pathlib.Path.replace"])
@pytest.mark.parametrize("nth", range(6))
@pytest.mark.parametrize("end", [7, 16])
def test_a_kill_while_a_batch_is_replaced_loses_and_repeats_nothing(
    output, monkeypatch, call, nth, end
):
    target, name = (os, call[3:]) if call.startswith("os.") else (Path, "replace")
    original, calls = getattr(target, name), [0]

    def dying(*arguments):
        calls[0] += 1
        if calls[0] == nth + 1:
            raise Stop
        return original(*arguments)

    parts = parts_of(output, 2, range(5, end))
    monkeypatch.setattr(target, name, dying)
    with suppress(Stop):
        output.commit(parts, 2, "q")
    monkeypatch.undo()
    again = Output(output.path, output.folder)
    again.open()
    commit(again, 2, range(5, end))
    commit(again, 3, range(end, end + 2))
    assert values(again) == list(range(end + 2))
    assert again.rows() == end + 2


def test_a_state_of_an_earlier_release_keeps_its_last_batch(output):
    file = output.folder / "state.json"
    state = json.loads(file.read_text())
    state_members = ("v", "batchId", "length", "rows", "query", "output")
    file.write_text(json.dumps({name: state[name] for name in state_members}))
    commit(output, 2, range(5, 12))
    assert values(output) == list(range(10))
    commit(output, 3, range(10, 12))
    assert values(output) == list(range(12))


@pytest.mark.spark
@pytest.mark.chaos
def test_spark_plans_a_batch_again_that_has_no_task_at_all(tmp_path):
    (tmp_path / "head").write_text("100")
    assert Run(tmp_path).summary()["rows"] == 100
    last = json.loads((tmp_path / "state" / "state.json").read_text())["batchId"]
    for log in ("offsets", "commits"):
        (tmp_path / "checkpoint" / log / str(last)).unlink()
        (tmp_path / "checkpoint" / log / f".{last}.crc").unlink(missing_ok=True)
    (tmp_path / "void").touch()
    (tmp_path / "head").write_text("150")
    run = Run(tmp_path, idle_exit=60)
    await_lines(tmp_path, 150)
    run.process.send_signal(signal.SIGTERM)
    assert run.summary()["rows"] == 150
    assert (tmp_path / "checkpoint" / "commits" / str(last + 1)).exists()
    assert ids(tmp_path) == list(range(150))
