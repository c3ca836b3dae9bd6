"""A process that adds micro-batches to a log and merges its files, and is killed at a step.

`python -m tests.sinks.event_log.writing FOLDER FORMAT STEP`: the process kills itself before the
change of the file system that has this number, 0 being the first.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from headrace.sinks.event_log.log import EventLog
from headrace.sinks.event_log.merging import Merging
from tests.sinks.event_log.events import HOUR_START_US, HOUR_US, add, form_of, log_options

BATCHES, EVENTS = 12, 5
_CHANGES = (
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.truncate",
    "ctypes.dlsym",
)


def kill_at(step: int) -> None:
    """Kill this process at a change of the file system."""
    step_count = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal step_count
        is_write = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE
        if event in _CHANGES or is_write:
            if step_count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            step_count += 1

    sys.addaudithook(count)


def times_of(number: int) -> list[int]:
    """Two hours of each micro-batch: a commit has two files."""
    return [HOUR_START_US + HOUR_US * (event % 2) for event in range(EVENTS)]


def write(folder: Path, form: str) -> None:
    """Add all micro-batches that the file `done` does not have, as Spark does by its log."""
    options = log_options(folder / "log", format=form, compact_after_ms="0", file_max_bytes="3000")
    log = EventLog(options.path, folder / "state")
    log.open()
    merging = Merging(log, options, form_of(options))
    done_file = folder / "done"
    first = int(done_file.read_text()) + 1 if done_file.exists() else 0
    for number in range(first, BATCHES):
        values = range(EVENTS * number, EVENTS * (number + 1))
        add(log, options, number, values, times_of(number))
        done_file.with_suffix(".new").write_text(str(number))
        done_file.with_suffix(".new").replace(done_file)
        if number % 3 == 2:
            while log.state().unfinished:
                merging.merge_finished(1 << 45)
    merging.expire(1 << 45)


if __name__ == "__main__":
    # What is imported late is no step.
    log_folder, chosen_form, chosen_step = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    write(log_folder / "before", chosen_form)
    kill_at(chosen_step)
    write(log_folder, chosen_form)
