"""Turns of processes that start."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.sinks.event_log.source import EventLogReader
from headrace.sinks.file.parts_source import PartsReader
from headrace.sinks.kafka.ranges_source import KafkaReader
from headrace.sinks.replicas.changes.parts_source import ReplicaPartsReader
from headrace.spark.data_source import HeadraceReader
from headrace.spark.starting import turns
from headrace.spark.starting.turns import cores, first_turn, turn

TAKEN = """
import sys
from headrace.spark.starting.turns import turn
with turn(float(sys.argv[1])):
    print("in", flush=True)
    sys.stdin.read()
"""

WAITING = """
import time
from headrace.spark.starting import turns
def pause(*_):
    turns.Deadline.pause = lambda *_: time.sleep(0.05)
    print("waits", flush=True)
turns.Deadline.pause = pause
with turns.turn(600):
    print("in", flush=True)
"""

PARENT = """
import subprocess, sys
command = [sys.executable, "-c", sys.argv[1]]
child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stdout)
print(child.stdout.readline().decode(), end="", flush=True)
"""
"""Ends when its child waits. The child has its output as standard error, which ends with both."""


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of turns that nobody else has, for this process and those that it starts."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def begun(longest: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", TAKEN, str(longest)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_as_many_processes_as_there_are_cores_have_a_turn_and_the_next_one_gets_that_of_a_dead_one(
) -> None:  # fmt: skip
    processes = [begun(600) for _ in range(cores() + 1)]
    try:
        outputs = {process.stdout.fileno(): process for process in processes if process.stdout}
        import select

        entered: set[int] = set()
        while len(entered) < cores():
            entered |= set(select.select(list(outputs), [], [], 120)[0])
        assert select.select([each for each in outputs if each not in entered], [], [], 1)[0] == []
        outputs[min(entered)].kill()
        (last,) = set(outputs) - entered
        assert select.select([last], [], [], 120)[0] == [last]
        output = b""
        while len(output) < 3 and (more := os.read(last, 3)):
            output += more
        assert output == b"in\n"
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_nobody_waits_longer_than_that() -> None:
    with ExitStack() as busy:
        for _ in range(cores()):
            busy.enter_context(turn())
        process = begun(0.5)
        assert process.communicate("", timeout=120)[0] == "in\n"


def test_a_process_whose_parent_is_gone_ends_instead_of_waiting() -> None:
    with ExitStack() as busy:
        for _ in range(cores()):
            busy.enter_context(turn())
        run = subprocess.run(
            [sys.executable, "-c", PARENT, WAITING],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        # Its output ended with the process that waited.
        assert run.stdout == "waits\n"


def test_a_place_without_folders_for_locks_holds_nobody_up(place: Path) -> None:
    turns.turns_folder().parent.touch()
    for _ in range(cores() + 1):
        turn(600).__enter__()


def test_a_process_waits_for_its_turn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_has_come", False)
    with first_turn():
        assert len([*turns.turns_folder().iterdir()]) == 1
        assert not gc.isenabled()
    with ExitStack() as busy:
        for _ in range(cores()):
            busy.enter_context(turn())
        with first_turn():
            assert gc.isenabled()


@pytest.mark.parametrize("reader", [EventLogReader, KafkaReader, PartsReader, ReplicaPartsReader])
def test_sources_of_sinks_open_their_session_in_their_turn(reader: type[HeadraceReader]) -> None:
    assert reader.session is HeadraceReader.session
