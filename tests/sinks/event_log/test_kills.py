"""A kill between any two steps loses nothing, doubles nothing and leaves nothing."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sinks.event_log.events import numbers, visible
from tests.sinks.event_log.writing import BATCHES, EVENTS

ROOT = Path(__file__).parents[3]
KILLS = 5
MAX_STEPS = 400


def run(folder: Path, form: str, step: int) -> bool:
    """Whether the process was killed at the step; it ended before it otherwise."""
    command = [sys.executable, "-m", "tests.sinks.event_log.writing", str(folder), form, str(step)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


def check_reader(folder: Path) -> None:
    """What a reader sees after a kill: each event once, of the micro-batches that began."""
    event_numbers = numbers(folder / "log")
    assert len(set(event_numbers)) == len(event_numbers)
    last_batch = int((folder / "done").read_text()) if (folder / "done").exists() else -1
    # Of the last one files may still be to be moved, and it may be there before it is noted.
    assert (
        set(range(EVENTS * last_batch))
        <= set(event_numbers)
        <= set(range(EVENTS * (last_batch + 2)))
    )


def check_end(folder: Path) -> None:
    assert sorted(numbers(folder / "log")) == list(range(EVENTS * BATCHES))
    state_folder = folder / "log" / "_headrace"
    assert [path for path in state_folder.rglob("*") if path.is_file() and path.stat().st_size] == [
        state_folder / "log"
    ]
    assert (
        list((state_folder / "staged").iterdir())
        == list((state_folder / "merging").iterdir())
        == []
    )
    state = json.loads((folder / "state" / "state.json").read_text())
    assert state["rows"] == EVENTS * BATCHES
    assert all(file.parent.name.startswith("hour=") for file in visible(folder / "log"))


@pytest.mark.parametrize(
    ("form", "seed"),
    [
        ("json", 1),
        pytest.param("parquet", 2, marks=pytest.mark.chaos),
        pytest.param("avro", 3, marks=pytest.mark.chaos),
    ],
)
def test_five_kills_at_seeded_steps_lose_and_double_nothing(tmp_path, form, seed) -> None:
    steps = random.Random(seed)
    kills = 0
    while kills < KILLS:
        if not run(tmp_path, form, steps.randrange(60)):
            break
        kills += 1
        check_reader(tmp_path)
    while run(tmp_path, form, MAX_STEPS):
        check_reader(tmp_path)
    check_end(tmp_path)
    assert kills == KILLS


@pytest.mark.chaos
def test_a_kill_at_any_step_loses_and_doubles_nothing(tmp_path) -> None:
    step, killed = 0, True
    while killed:
        folder = tmp_path / str(step)
        folder.mkdir()
        killed = run(folder, "parquet", step)
        check_reader(folder)
        assert not run(folder, "parquet", MAX_STEPS)
        check_end(folder)
        step += 1
    assert step > 100
