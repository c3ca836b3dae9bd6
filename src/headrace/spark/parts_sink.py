"""Commits the micro-batches of `headrace_parts` in the driver, a process that lives already.

Spark's own commit of a Python sink runs a process per micro-batch, and a worker per task.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.sinks.checkpoint import query_of
from headrace.sinks.file.output import Output
from headrace.sinks.file.parts import of_rows
from headrace.spark.sinks.foreach_batch import rows_of_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class PartsSink:
    """The sink of a stream of headrace.spark.parts_source, with the same output and checkpoint.

    Spark calls it between the entries of a micro-batch in the logs of offsets and of commits, so a
    micro-batch may come again, and is in the output once.
    """

    def __init__(self, spark: SparkSession, output: Output, checkpoint: Path) -> None:
        self._spark = spark
        self._output, self._checkpoint = output, checkpoint
        self._rows = output.rows()

    def call(self, frame: Any, batch: int) -> None:
        """Called by the JVM: join the parts of a micro-batch. The source process has done it for
        a small one."""
        if not self._output.awaits_parts(batch):
            return
        batches = rows_of_frame(self._spark, frame).to_batches()
        query = query_of(str(self._checkpoint))
        self._output.commit(of_rows(iter(batches)), batch, query, keep_files=True)

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """Events that the output got since the last call."""
        before, self._rows = self._rows, self._output.rows()
        return self._rows - before

    class Java:
        implements = (
            "org.apache.spark.sql.execution.streaming.sources.PythonForeachBatchFunction",
        )
