"""Ends the micro-batches of `headrace_kafka_ranges` in the driver, a process that lives already."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError
from headrace.kafka.client import unreachable
from headrace.sinks.kafka.bookkeeping import Bookkeeping
from headrace.sinks.kafka.options import SINK, KafkaOptions
from headrace.sinks.kafka.plan import Plan, PlanFolder, Way
from headrace.sinks.kafka.ranges import PARTS, step_of_range, suffixes
from headrace.sinks.kafka.writer import Writer, fence
from headrace.sinks.parts import sweep_parts
from headrace.spark.sinks.foreach_batch import rows_of_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLOSE_SECONDS = 5.0


class KafkaSink:
    """The sink of a stream of headrace.spark.sinks.kafka_source, with the same state folder.

    Spark calls it between the entries of a micro-batch in the logs of offsets and of commits, so a
    micro-batch may come again, and is in Kafka once.
    """

    def __init__(self, spark: SparkSession, options: KafkaOptions, folder: PlanFolder) -> None:
        self._spark, self._options, self._folder = spark, options, folder
        self._writer = Writer(options, PARTS)
        self._bookkeeping = Bookkeeping(options)
        self._of_tasks = 0
        self._before = self._written = self._direct()

    def call(self, frame: Any, batch: int) -> None:
        """Called by the JVM: let the tasks run. The source process has written a small range."""
        plan = self._folder.last()
        if plan is None or plan.turn.batch != batch:
            # Nothing says that the source process or the tasks have written it.
            raise HeadraceError(
                "kafka.no_plan",
                f"The micro-batch {batch} was not planned in {self._folder.parts.parent}",
                "Restore the state folder, or start again with the same checkpoint.",
                retriable=True,
            )
        if plan.way is Way.DIRECT:
            return
        rows = rows_of_frame(self._spark, frame).to_pylist()
        rows.sort(key=lambda row: int(row["slice"]))
        if plan.way is Way.PARTS:
            self._send(plan, [str(row["part"]) for row in rows if row["part"]])
        self._of_tasks += sum(int(row["events"]) for row in rows)

    def _send(self, plan: Plan, names: list[str]) -> None:
        from headrace.sinks.kafka.parts import read_parts

        turn, options = plan.turn, self._options
        paths = [self._folder.parts / name for name in names]
        self._writer.write(
            turn,
            0,
            lambda: read_parts(paths),
            lambda: step_of_range(self._bookkeeping, turn, options),
        )
        sweep_parts(self._folder.parts, turn.batch)

    def begin(self) -> None:
        """The query starts again: its source process fences what the last one had."""
        self._writer.disconnect()

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """Events that went to Kafka since the last call."""
        before, self._written = self._written, self._direct() + self._of_tasks
        return self._written - before

    @property
    def rows(self) -> int:
        """Events that went to Kafka."""
        return self._direct() + self._of_tasks - self._before

    def close(self, finished: int) -> None:
        """Disconnect, and abort what was begun behind the micro-batch `finished`: readers would
        wait for it. Never raises."""
        self._writer.close()
        options = self._options
        with contextlib.suppress(HeadraceError):
            plan = self._folder.last()
            if plan is None or plan.turn.batch <= finished or not options.is_transactional:
                return
            deadline = Deadline(_CLOSE_SECONDS)

            def pause(seconds: float) -> None:
                deadline.pause(seconds)
                if deadline.is_over:
                    raise unreachable(SINK, options.brokers, "it takes too long")

            fence(options, suffixes(plan.turn.slices), pause)

    def _direct(self) -> int:
        plan = self._folder.last()
        return 0 if plan is None else plan.written

    class Java:
        implements = (
            "org.apache.spark.sql.execution.streaming.sources.PythonForeachBatchFunction",
        )
