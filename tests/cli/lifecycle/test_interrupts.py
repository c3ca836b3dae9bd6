"""Ctrl-C at random moments of every verb: no trace, no process, no file, no slot that stays."""

from __future__ import annotations

import os
import random
import re
import time
from pathlib import Path

import pytest

from tests.cli.commands import properties
from tests.cli.lifecycle.terminals import TerminalRun
from tests.servers.postgresql import Database

_TRACE = re.compile(r"Traceback|Exception|\bat [\w.$]+\(|Error:|reentrant")
_ENDS_WITHIN_S = 120.0
VERBS = ("events", "run", "demo", "check", "describe", "--help")


def arguments(verb: str, file: Path, folder: Path) -> list[str]:
    match verb:
        case "events":
            return ["events", str(file), "--output", str(folder / "out"), "--state",
                    str(folder / "state")]  # fmt: skip
        case "run" | "check":
            return [verb, str(file)]
        case "describe":
            return ["describe", "postgresql"]
    return [verb]


def interrupt(verb: str, moment: float, file: Path, folder: Path) -> None:
    run = TerminalRun(arguments(verb, file, folder))
    try:
        run.read(moment)
        run.press_ctrl_c()
        status = run.wait(_ENDS_WITHIN_S)
        said = f"{verb}, Ctrl-C after {moment:.1f} s:\n{run.output}"
        assert status in (0, 130, -2), said
        assert not _TRACE.search(run.output), said
        deadline = time.monotonic() + 30
        while run.left_processes() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert run.left_processes() == [], said
        assert run.left_files() == [], said
    finally:
        run.close()


def interrupt_often(database: Database, folder: Path, moments: list[tuple[str, float]]) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    database.execute("INSERT INTO t SELECT generate_series(1, 1000)")
    file = folder / "pipeline.properties"
    file.write_text(properties(database, slot_drop_on_stop="true", snapshot_mode="when_needed"))
    for number, (verb, moment) in enumerate(moments):
        interrupt(verb, moment, file, folder / str(number))


@pytest.mark.postgres
@pytest.mark.spark
def test_ctrl_c_leaves_no_trace_no_process_and_no_file(database: Database, tmp_path: Path) -> None:
    moments = [("events", 0.3), ("run", 1.0), ("events", 2.5), ("run", 12.0), ("demo", 4.0)]
    interrupt_often(database, tmp_path, moments)


@pytest.mark.chaos
@pytest.mark.postgres
@pytest.mark.spark
def test_fifty_interrupts_of_every_verb_leave_nothing(database: Database, tmp_path: Path) -> None:
    seed = int(os.environ.get("SEED") or random.randrange(2**32))
    print(f"SEED={seed}")
    chosen = random.Random(seed)
    moments = [(chosen.choice(VERBS), chosen.uniform(0.2, 20)) for _ in range(50)]
    interrupt_often(database, tmp_path, moments)
