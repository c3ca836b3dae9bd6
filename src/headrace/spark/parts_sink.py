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
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class PartsSink:
    """The sink of a stream of headrace.spark.parts_source, with the same output and checkpoint.

    Spark calls it between the entries of a micro-batch in the logs of offsets and of commits, so a
    micro-batch may come again, and is in the output once.
    """

    def __init__(self, spark: SparkSession, output: Output, checkpoint: Path) -> None:
        self._spark = spark
        self._output, self._checkpoint = output, checkpoint
        self._rows = output.rows()

    def takes(self, writer: DataStreamWriter) -> DataStreamWriter:
        """`writer.foreachBatch`, but a session and a frame are only made for micro-batches that
        need them: they cost a fifth of the CPU of a small one."""
        from pyspark import java_gateway

        sources = self._spark.sparkContext._jvm.org.apache.spark.sql.execution.streaming.sources  # type: ignore[union-attr]
        sources.PythonForeachBatchHelper.callForeachBatch(writer._jwrite, self)
        gateway: Any = java_gateway
        gateway.ensure_callback_server_started(self._spark.sparkContext._gateway)
        return writer

    def call(self, frame: Any, batch: int) -> None:
        """Called by the JVM: join the parts of a micro-batch. The source process has done it for
        a small one."""
        from pyspark.sql import DataFrame, SparkSession

        if not self._output.awaits_parts(batch):
            return
        session = SparkSession(self._spark.sparkContext, frame.sparkSession())
        batches = DataFrame(frame, session).toArrow().to_batches()
        query = query_of(str(self._checkpoint))
        self._output.commit(of_rows(iter(batches)), batch, query)

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """Events that the output got since the last call."""
        before, self._rows = self._rows, self._output.rows()
        return self._rows - before

    class Java:
        implements = (
            "org.apache.spark.sql.execution.streaming.sources.PythonForeachBatchFunction",
        )
