"""Runs a pipeline into a sink, whichever it is."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.pipeline import Pipeline, open_session, spark_settings, supervise
from headrace.errors import HeadraceError
from headrace.spark.checkpoint import finished_batch
from headrace.spark.jvm.jars import JARS, find_jars
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
    pipeline = with_sink(pipeline, definition)
    sink = definition.make(SinkQuery(pipeline.config, state / definition.name, checkpoint))
    with exclusive(state, definition.name):
        pipeline.validate(checkpoint)
        try:
            sink.open()
            return _stream(sink, definition, pipeline, checkpoint, arguments, verb, messages)
        finally:
            sink.close()


def with_sink(pipeline: Pipeline, definition: SinkDefinition) -> Pipeline:
    """The pipeline with what the sink sets of its source's properties. Raises HeadraceError."""
    defaults = definition.defaults(pipeline.config)
    missing = {name: text for name, text in defaults.items() if name not in pipeline.properties}
    changes = {**missing, **definition.overrides}
    return pipeline.with_overrides(changes) if changes else pipeline


def sink_settings(
    definition: SinkDefinition, pipeline: Pipeline, arguments: argparse.Namespace
) -> dict[str, str]:
    """Settings of Spark, with the jars that the sink needs on its class path. Raises
    HeadraceError("spark.jars_not_found")."""
    settings = spark_settings(pipeline, arguments)
    packages = definition.packages(pipeline.config)
    if packages:
        folder = definition.own_options(pipeline.config).get("jars")
        jars = [str(jar) for jar in find_jars(packages, folder)]
        settings[JARS] = ",".join(filter(None, (settings.get(JARS), *jars)))
    return settings


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
        own=sink_settings(definition, pipeline, arguments),
        tasks=not definition.writes_small_ranges or pipeline.begins_with_tasks(checkpoint),
    )
    try:
        stream = PipelineStream(session.spark, pipeline)

        def start() -> StreamingQuery:
            writer = sink.writer(stream)
            try:
                return pipeline.start(writer, checkpoint)
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
        sink.stop(_finished(checkpoint))
        session.close()


def _finished(checkpoint: Path) -> int:
    """The last micro-batch in the log of commits; -1 where it cannot be read, too."""
    try:
        return finished_batch(checkpoint)
    except (OSError, ValueError):
        return -1


@contextmanager
def state_folder(folder: str | None, missing: HeadraceError | None) -> Iterator[Path]:
    """The folder of a query's checkpoint and state; one that vanishes where none is named. Raises
    `missing` where there must be one."""
    if folder:
        yield Path(folder).absolute()
    elif missing is not None:
        raise missing
    else:
        with tempfile.TemporaryDirectory(prefix="headrace-") as temporary:
            yield Path(temporary)
