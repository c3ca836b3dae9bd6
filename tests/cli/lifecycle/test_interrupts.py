"""Ctrl-C at random moments of every verb: no trace, no process, no file, no slot that stays."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.commands import properties
from tests.cli.lifecycle.terminals import TerminalRun
from tests.servers.postgresql import Database

_TRACE = re.compile(r"Traceback|Exception|\bat [\w.$]+\(|Error:|reentrant")
_ENDS_WITHIN_S = 120.0
_GONE_WITHIN_S = 30.0
LATEST_S = {
    "events": 20.0, "run": 20.0, "demo": 20.0, "signal": 8.0, "transform": 3.0, "check": 2.0,
    "slots": 2.0, "describe": 1.5, "--help": 0.6,
}  # fmt: skip
"""The moment up to which each verb is interrupted: somewhat longer than it takes."""


_IMPORTED = """
import os, signal

class Declared:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)

class Config:
    member = Declared()
"""


def arguments(verb: str, file: Path, folder: Path) -> list[str]:
    match verb:
        case "events":
            return ["events", str(file), "--output", str(folder / "out"), "--state",
                    str(folder / "state")]  # fmt: skip
        case "run" | "check" | "slots" | "transform":
            return [verb, str(file)]
        case "signal":
            return [verb, str(file), "log", '{"message": "here"}', "--wait"]
        case "describe":
            return ["describe", "postgresql"]
    return [verb]


def interrupt(
    verb: str, moment: float | str, file: Path, folder: Path, database: Database
) -> list[str]:
    """The faults in the end of a verb that Ctrl-C ends after `moment` seconds, or when the terminal
    shows that text."""
    run = TerminalRun(arguments(verb, file, folder))
    try:
        if isinstance(moment, str):
            run.read_until(moment, _ENDS_WITHIN_S)
            moment = time.monotonic() - run.begun
        else:
            run.read(moment)
        run.press_ctrl_c()
        status = run.wait(_ENDS_WITHIN_S)
        # Nobody applies the signal, so its wait may end by itself.
        statuses = (0, 1, 130, -2) if verb == "signal" else (0, 130, -2)
        wrong = [] if status in statuses else [f"status {status}"]
        wrong += [f"trace: {trace[0]}" for trace in [_TRACE.search(run.output)] if trace]
        deadline = time.monotonic() + _GONE_WITHIN_S
        while (left := _left(run, database)) and time.monotonic() < deadline:
            time.sleep(0.1)
        wrong += left
        description = f"{verb}, Ctrl-C after {moment:.2f} s: {'; '.join(wrong)}\n{run.output}"
        return [description] if wrong else []
    finally:
        run.close()


def _left(run: TerminalRun, database: Database) -> list[str]:
    """Processes, temporary files (sockets, too) and slots that are still there."""
    slots = database.execute(
        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
    )
    return [
        *(f"process {line}" for line in run.left_processes()),
        *(f"file {name}" for name in run.left_files()),
        *(f"slot {name}" for (name,) in slots),
    ]


def interrupt_often(
    database: Database, folder: Path, moments: Sequence[tuple[str, float | str]]
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    database.execute("CREATE TABLE signals (id varchar(42) PRIMARY KEY, type text, data text)")
    database.execute("INSERT INTO t SELECT generate_series(1, 1000)")
    file = folder / "pipeline.properties"
    more = {"slot_drop_on_stop": "true", "snapshot_mode": "when_needed"}
    file.write_text(
        properties(database, **more)
        + "signal.data.collection=public.signals\ntable.include.list=public.t\n"
    )
    wrong: list[str] = []
    for number, (verb, moment) in enumerate(moments):
        problems = interrupt(verb, moment, file, folder / str(number), database)
        print(
            f"{number + 1}: {verb} {moment} {'right' if not problems else problems[0]}", flush=True
        )
        wrong += problems
    assert wrong == [], "\n".join(wrong)


@pytest.mark.postgres
@pytest.mark.spark
def test_ctrl_c_leaves_no_trace_no_process_and_no_file(database: Database, tmp_path: Path) -> None:
    """Ctrl-C comes while modules are imported, while Spark starts, and while a query runs."""
    moments = [("events", 0.3), ("run", 1.0), ("events", 2.5), ("run", "events ·"), ("demo", 4.0)]
    interrupt_often(database, tmp_path, moments)


@pytest.mark.postgres
@pytest.mark.spark
def test_sigterm_for_the_whole_group_lets_headrace_end_spark(
    database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "pipeline.properties"
    file.write_text(properties(database))
    run = TerminalRun(["run", str(file)])
    try:
        run.read_until("events ·", _ENDS_WITHIN_S)
        run.terminate_group()
        assert run.wait(_ENDS_WITHIN_S) == 0, run.output
        assert not _TRACE.search(run.output), run.output
    finally:
        run.close()


@pytest.mark.chaos
@pytest.mark.postgres
@pytest.mark.spark
def test_fifty_interrupts_of_every_verb_leave_nothing(database: Database, tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED") or random.randrange(2**32))
    print(f"SEED={seed}")
    chosen = random.Random(seed)
    verbs = chosen.choices(list(LATEST_S), weights=[4, 4, 4, 1, 1, 1, 1, 1, 1], k=50)
    moments = [(verb, chosen.uniform(0.1, LATEST_S[verb])) for verb in verbs]
    interrupt_often(database, tmp_path, moments)


def test_ctrl_c_while_a_class_is_imported_leaves_no_trace(tmp_path: Path) -> None:
    """Python 3.11 makes a RuntimeError of it."""
    (tmp_path / "imported.py").write_text(_IMPORTED)
    program = (
        "import sys; from headrace import cli; "
        "cli._run = lambda chosen: __import__('imported'); "
        "sys.exit(cli.main(['describe', 'postgresql']))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (completed.returncode, completed.stderr) == (130, "")
