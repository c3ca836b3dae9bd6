"""Completes the micro-batches of `headrace_kafka_ranges` in the driver process."""

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
from headrace.spark.query.source_options import CHECKPOINT, FOLDER
from headrace.spark.sinks.batches import BatchSink
from headrace.spark.sinks.definition import EventStream, SinkQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CLOSE_SECONDS = 5.0


class RangesSink(BatchSink):
    """A query's ranges in Kafka: a micro-batch may be repeated, but is written once."""

    def __init__(self, options: KafkaOptions, query: SinkQuery) -> None:
        self._options = options
        self._folder, self._checkpoint = PlanFolder(query.state), query.checkpoint
        self._writer = Writer(options, PARTS)
        self._bookkeeping = Bookkeeping(options)
        self._of_tasks = self._before = self._written = 0
        self._has_begun = False

    def open(self) -> None:
        """See Sink."""
        self._folder.open()
        self._before = self._written = self._direct()

    def read(self, stream: EventStream) -> DataFrame:
        """See BatchSink: one row per slice. The source process fences the transactions of its
        predecessor."""
        from headrace.sinks.kafka.ranges_source import KafkaRangesSource

        self._has_begun = True
        self._writer.disconnect()
        folders = {FOLDER: str(self._folder.folder), CHECKPOINT: str(self._checkpoint)}
        return stream.read(KafkaRangesSource, folders)

    def end(self, frame: Any, batch: int) -> None:
        """Run the tasks, unless the source process has written the range."""
        plan = self._folder.last()
        if plan is None or plan.turn.batch != batch:
            # It is unknown whether the source process or the tasks have written it.
            raise HeadraceError(
                "kafka.no_plan",
                f"The micro-batch {batch} was not planned in {self._folder.parts.parent}",
                "Restore the state folder, or start again with the same checkpoint.",
                retriable=True,
            )
        if plan.way is Way.DIRECT:
            return
        rows = self.rows_of(frame).to_pylist()
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

    def new_rows(self, _progress: Mapping[str, Any]) -> int:
        """See Sink."""
        before, self._written = self._written, self._direct() + self._of_tasks
        return self._written - before

    @property
    def rows(self) -> int:
        """The number of events written to Kafka."""
        return self._direct() + self._of_tasks - self._before

    def stop(self, finished: int) -> None:
        """Disconnect, and abort transactions after the micro-batch `finished`: readers would wait
        for them. Never raises."""
        self._writer.close()
        options = self._options
        with contextlib.suppress(HeadraceError):
            plan = self._folder.last() if self._has_begun else None
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
