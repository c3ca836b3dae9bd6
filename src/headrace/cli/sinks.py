"""Runs a pipeline into a sink, whichever it is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.pipeline import Pipeline, open_session, spark_settings, supervise
from headrace.spark.checkpoint import finished_batch
from headrace.spark.sinks.definition import EventStream, Sink, SinkDefinition, SinkQuery
from headrace.spark.state_folder import exclusive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.cli.messages import Messages
    from headrace.spark.supervisor import Summary


@dataclass(frozen=True)
class PipelineStream(EventStream):
    """The events of a pipeline."""

    spark: SparkSession
    pipeline: Pipeline

    def events(self) -> DataFrame:
        """See EventStream."""
        return self.pipeline.stream(self.spark)

    def read(self, source: type[DataSource], options: Mapping[str, str]) -> DataFrame:
        """See EventStream."""
        return self.pipeline.read(self.spark, source, options)


def run_sink(
    definition: SinkDefinition,
    pipeline: Pipeline,
    state: Path,
    arguments: argparse.Namespace,
    verb: str,
    messages: Messages,
) -> Summary:
    """Streams a pipeline into a sink until a limit or a signal. `state` is the folder of the
    query's checkpoint and of the sink's state. Raises HeadraceError."""
    checkpoint = state / "checkpoint"
    pipeline = pipeline.with_overrides(definition.overrides)
    sink = definition.make(SinkQuery(pipeline.config, state / definition.name, checkpoint))
    with exclusive(state, definition.name):
        pipeline.validate(checkpoint)
        try:
            sink.open()
            return _stream(sink, definition, pipeline, checkpoint, arguments, verb, messages)
        finally:
            sink.close(finished_batch(checkpoint))


def _stream(
    sink: Sink,
    definition: SinkDefinition,
    pipeline: Pipeline,
    checkpoint: Path,
    arguments: argparse.Namespace,
    verb: str,
    messages: Messages,
) -> Summary:
    session = open_session(
        verb,
        messages,
        kernels=pipeline.kernels(definition.kernels),
        master=arguments.master,
        idle_exit=arguments.idle_exit,
        debug=arguments.debug,
        own=spark_settings(pipeline, arguments),
        tasks=not definition.writes_small_ranges or pipeline.begins_with_tasks(checkpoint),
    )
    try:
        stream = PipelineStream(session.spark, pipeline)

        def start() -> StreamingQuery:
            try:
                return pipeline.start(sink.writer(stream), checkpoint)
            except Exception as error:
                meant = sink.start_error(error)
                if meant is error:
                    raise
                raise meant from error

        limits = pipeline.limits(
            idle_exit=arguments.idle_exit,
            seconds=arguments.seconds,
            prints=definition.shows_events,
        )
        if definition.has_live_line:
            messages.end()
        summary = supervise(
            session,
            start,
            limits,
            messages,
            on_progress=sink.on_progress,
            rows_of=sink.new_rows,
        )
        if sink.rows is not None:
            summary.rows = sink.rows
        return summary
    finally:
        session.close()
