"""Names of what tasks write for a micro-batch, before it is committed."""

from __future__ import annotations

import secrets
from pathlib import Path


def task_part_name() -> str:
    """The name of this task attempt's part: `BATCH-PARTITION-ATTEMPT-RANDOM`. A driver counts the
    attempts from zero, so what is left of another one may write under the same three numbers."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
    own = secrets.token_hex(4)
    return f"{batch}-{context.partitionId()}-{context.taskAttemptId()}-{own}"


def sweep_parts(folder: Path, batch: int) -> None:
    """Delete the parts of micro-batches up to `batch`, of failed attempts too."""
    for part in folder.iterdir():
        number, _, _ = part.name.partition("-")
        if number.isdigit() and int(number) <= batch:
            part.unlink(missing_ok=True)
