"""Commits the micro-batches of `headrace_parts` in the driver, a process that lives already.

Spark's own commit of a Python sink runs a process per micro-batch, and a worker per task.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.sinks.file.checkpoint import query_of
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import of_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PartsSink:
    """For `foreachBatch` over the stream of headrace.spark.parts_source, with the same output and
    checkpoint. Spark calls it between the entries of a micro-batch in the logs of offsets and of
    commits, so a micro-batch may come again, and is in the output once."""

    def __init__(self, output: Output, checkpoint: Path) -> None:
        self._output, self._checkpoint = output, checkpoint
        self._rows = output.rows()

    def write(self, frame: DataFrame, batch: int) -> None:
        """Join the parts of a micro-batch; the source process has done it for a small one."""
        if self._output.awaits_parts(batch):
            parts = of_rows(iter(frame.toArrow().to_batches()))
            self._output.commit(parts, batch, query_of(str(self._checkpoint)))

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """Events that the output got since the last call."""
        before, self._rows = self._rows, self._output.rows()
        return self._rows - before
