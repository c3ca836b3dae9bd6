"""Runs a pipeline into any sink."""

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
from headrace.sinks.closed import CLOSED
from headrace.spark.checkpoint import finished_batch, query_id
from headrace.spark.jvm.jars import JARS, find_jars
from headrace.spark.query.status import metrics_labels
from headrace.spark.sinks.definition import EventStream, Sink, SinkDefinition, SinkQuery
from headrace.spark.state_folder import exclusive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.cli.messages import Messages
    from headrace.spark.monitoring.observed import ObservedQuery
    from headrace.spark.supervisor import Summary


_EXTENSIONS = "spark.sql.extensions"


@dataclass(frozen=True)
class PipelineStream(EventStream):
    """The events of a pipeline, for a query with this checkpoint."""

    spark: SparkSession
    pipeline: Pipeline
    checkpoint: Path

    def events(self) -> DataFrame:
        """See EventStream."""
        return self.pipeline.stream(self.spark, self.checkpoint)

    def read(self, source: type[DataSource], options: Mapping[str, str]) -> DataFrame:
        """See EventStream."""
        return self.pipeline.read(self.spark, source, options, self.checkpoint)


def run_sink(
    definition: SinkDefinition,
    pipeline: Pipeline,
    state: Path,
    arguments: argparse.Namespace,
    verb: str,
    messages: Messages,
) -> Summary:
    """Stream a pipeline into a sink until a limit or a signal. `state` is the folder of the query's
    checkpoint and of the sink's state. Raises HeadraceError."""
    checkpoint = state / "checkpoint"
    pipeline = with_sink(pipeline, definition)
    sink = definition.make(SinkQuery(pipeline.config, state / definition.name, checkpoint))
    with (
        exclusive(state, definition.name),
        _observed(pipeline, state, arguments, messages) as observed,
    ):
        pipeline.validate(checkpoint)
        try:
            sink.open()
            return _stream(
                sink, definition, pipeline, checkpoint, arguments, verb, messages, observed
            )
        finally:
            sink.close()


@contextmanager
def _observed(
    pipeline: Pipeline, state: Path, arguments: argparse.Namespace, messages: Messages
) -> Iterator[ObservedQuery]:
    """Yield the query for `headrace status`, and serve Prometheus if the arguments have a port.
    Raises HeadraceError("spark.metrics_port")."""
    from headrace.spark.monitoring.monitor import Monitor
    from headrace.spark.monitoring.observed import ObservedQuery

    config = pipeline.config
    query = ObservedQuery(
        labels=metrics_labels(config),
        query=query_id(state / "checkpoint"),
        name=config.name,
        checkpoint=str(state),
    )
    monitor = Monitor(
        lambda: {str(state): query},
        address=arguments.metrics_address,
        port=arguments.metrics_port,
        folder=state,
    )
    if monitor.url is not None:
        messages.info(f"metrics: {monitor.url}/metrics", {"metrics_port": monitor.port})
    try:
        yield query
    except HeadraceError as error:
        if error.code != CLOSED and not query.is_over:
            query.failed(error, is_tried_again=False)
        raise
    finally:
        if not query.is_over:
            query.stopped()
        monitor.close()


def with_sink(pipeline: Pipeline, definition: SinkDefinition) -> Pipeline:
    """Return the pipeline with the properties that the sink sets for its source. Raises
    HeadraceError."""
    defaults = definition.defaults(pipeline.config)
    missing = {name: text for name, text in defaults.items() if name not in pipeline.properties}
    changes = {**missing, **definition.overrides}
    return pipeline.with_overrides(changes) if changes else pipeline


def sink_settings(
    definition: SinkDefinition, pipeline: Pipeline, arguments: argparse.Namespace
) -> dict[str, str]:
    """Return the settings of Spark, with those that the sink needs, and the jars on its class path.
    Raises HeadraceError("spark.jars_not_found")."""
    chosen, needed = (
        spark_settings(pipeline, arguments),
        definition.session_settings(pipeline.config),
    )
    settings = {**needed, **chosen}
    if _EXTENSIONS in needed and _EXTENSIONS in chosen:  # a list, which combines both
        both = [*chosen[_EXTENSIONS].split(","), *needed[_EXTENSIONS].split(",")]
        settings[_EXTENSIONS] = ",".join(dict.fromkeys(extension.strip() for extension in both))
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
    observed: ObservedQuery,
) -> Summary:
    session = open_session(
        verb,
        messages,
        kernels=pipeline.kernels(definition.kernels_of(pipeline.config)),
        master=arguments.master,
        idle_exit=arguments.idle_exit,
        debug=arguments.debug,
        user_settings=sink_settings(definition, pipeline, arguments),
        tasks=not definition.writes_small_ranges or pipeline.begins_with_tasks(checkpoint),
    )
    try:
        messages.phase("starting the query")
        stream = PipelineStream(session.spark, pipeline, checkpoint)

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
            observed=observed,
        )
        if sink.rows is not None:
            summary.rows = sink.rows
        return summary
    except HeadraceError as error:
        # The JVM may take minutes to end, for example while it archives its classes.
        if error.code != CLOSED:
            observed.failed(error, is_tried_again=False)
            messages.failure(error)
            arguments.written = error
        raise
    finally:
        sink.stop(_finished(checkpoint))
        session.close()


def _finished(checkpoint: Path) -> int:
    """Return the last micro-batch in the log of commits; -1 also if it cannot be read."""
    try:
        return finished_batch(checkpoint)
    except (OSError, ValueError):
        return -1


@contextmanager
def state_folder(folder: str | None, missing: HeadraceError | None) -> Iterator[Path]:
    """Yield the folder of a query's checkpoint and state; a temporary one if `folder` is None.
    Raises `missing`, if it is not None, instead."""
    if folder:
        yield Path(folder).absolute()
    elif missing is not None:
        raise missing
    else:
        with tempfile.TemporaryDirectory(prefix="headrace-") as temporary:
            yield Path(temporary)
