"""Sinks whose micro-batches are committed in the command's process, which is already running.

Spark's own commit of a Python sink runs a process per micro-batch, and a worker per task. The
session and the frame in Python that `foreachBatch` makes cost a fifth of the CPU of a small
micro-batch, which needs neither: the JVM calls with its own frame.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.spark.sinks.definition import EventStream, Sink

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


class BatchSink(Sink):
    """A sink with a source of its own, whose tasks write; their descriptions are committed here.

    Spark calls `end` between the entries of a micro-batch in the logs of offsets and of commits, so
    a micro-batch may come again: a sink must apply it once.
    """

    _spark: SparkSession

    @abstractmethod
    def read(self, stream: EventStream) -> DataFrame:
        """Return the rows of the source; called again at each restart of the query."""

    @abstractmethod
    def end(self, frame: Any, batch: int) -> None:
        """Commit a micro-batch. `frame` is the JVM's, and its tasks run when `rows_of` reads its
        rows. Raises HeadraceError."""

    def writer(self, stream: EventStream) -> DataStreamWriter:
        """See Sink."""
        from pyspark import java_gateway

        spark = self._spark = stream.spark
        writer = self.read(stream).writeStream
        sources = spark.sparkContext._jvm.org.apache.spark.sql.execution.streaming.sources  # type: ignore[union-attr]
        sources.PythonForeachBatchHelper.callForeachBatch(writer._jwrite, self)
        gateway: Any = java_gateway
        gateway.ensure_callback_server_started(spark.sparkContext._gateway)
        return writer

    def rows_of(self, frame: Any) -> pa.Table:
        """Return the rows of a frame of the JVM."""
        from pyspark.sql import DataFrame, SparkSession

        session = SparkSession(self._spark.sparkContext, frame.sparkSession())
        return DataFrame(frame, session).toArrow()

    def call(self, frame: Any, batch: int) -> None:
        """Commit a micro-batch; called by the JVM."""
        self.end(frame, batch)

    class Java:
        implements = (
            "org.apache.spark.sql.execution.streaming.sources.PythonForeachBatchFunction",
        )
