"""Names of the files that tasks write for a micro-batch, before it is committed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def task_part_name() -> str:
    """The name of this task attempt's part: `BATCH-PARTITION-ATTEMPT-RANDOM`. A driver counts the
    attempts from zero, so a task left over from another driver may use the same three numbers."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
    token = secrets.token_hex(4)
    return f"{batch}-{context.partitionId()}-{context.taskAttemptId()}-{token}"


def sweep_parts(folder: Path, batch: int) -> None:
    """Delete the parts of micro-batches up to `batch`, also of failed attempts."""
    for part in folder.iterdir():
        number, _, _ = part.name.partition("-")
        if number.isdigit() and int(number) <= batch:
            part.unlink(missing_ok=True)


def note_expected_parts(folder: Path, batch: int, *, of_tasks: bool) -> None:
    """Note whether tasks write the parts of the micro-batch that is planned now."""
    note = _note(folder, batch)
    if of_tasks:
        note.touch()
    else:
        note.unlink(missing_ok=True)


def expects_parts(folder: Path, batch: int) -> bool:
    """Whether tasks write the parts of a micro-batch that was planned and not committed."""
    return _note(folder, batch).exists()


def _note(folder: Path, batch: int) -> Path:
    return folder / f"{batch}-tasks"


def write_all(file: int, content: memoryview) -> None:
    """Write all bytes: a single call may write fewer. Raises OSError."""
    while content:
        content = content[os.write(file, content) :]
