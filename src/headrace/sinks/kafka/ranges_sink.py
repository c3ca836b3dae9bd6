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
    """Writes the ranges of a query to Kafka. Spark may repeat a micro-batch; it is written once."""

    def __init__(self, options: KafkaOptions, query: SinkQuery) -> None:
        self._options = options
        self._folder, self._checkpoint = PlanFolder(query.state), query.checkpoint
        self._writer = Writer(options, PARTS)
        self._bookkeeping = Bookkeeping(options)
        self._task_events = self._events_at_open = self._events_at_progress = 0
        self._has_begun = False

    def open(self) -> None:
        """See Sink."""
        self._folder.open()
        self._events_at_open = self._events_at_progress = self._direct_events()

    def read(self, stream: EventStream) -> DataFrame:
        """See BatchSink: one row per slice."""
        from headrace.sinks.kafka.ranges_source import KafkaRangesSource

        self._has_begun = True
        # The source process fences the transactions of this writer.
        self._writer.disconnect()
        folders = {FOLDER: str(self._folder.folder), CHECKPOINT: str(self._checkpoint)}
        return stream.read(KafkaRangesSource, folders)

    def end(self, frame: Any, batch: int) -> None:
        """Run the tasks, and write the parts that they return; neither for a range that the source
        process wrote."""
        plan = self._folder.last()
        if plan is None or plan.turn.batch != batch:
            # It is unknown whether the source process or the tasks have written it.
            raise HeadraceError(
                "kafka.no_plan",
                f"The folder {self._folder.parts.parent} has no plan for the micro-batch {batch}",
                "Restore the state folder, or start again with the same checkpoint.",
                retriable=True,
            )
        if plan.way is Way.DIRECT:
            return
        rows = self.rows_of(frame).to_pylist()
        rows.sort(key=lambda row: int(row["slice"]))
        if plan.way is Way.PARTS:
            self._send(plan, [str(row["part"]) for row in rows if row["part"]])
        self._task_events += sum(int(row["events"]) for row in rows)

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
        before, self._events_at_progress = (
            self._events_at_progress,
            self._direct_events() + self._task_events,
        )
        return self._events_at_progress - before

    @property
    def rows(self) -> int:
        """The number of events written to Kafka."""
        return self._direct_events() + self._task_events - self._events_at_open

    def stop(self, finished: int) -> None:
        """Disconnect, and abort open transactions of micro-batches after `finished`: consumers with
        `read_committed` would wait for their end. Never raises."""
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

    def _direct_events(self) -> int:
        plan = self._folder.last()
        return 0 if plan is None else plan.written
