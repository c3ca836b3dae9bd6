"""Run a configuration: events go to the console, a file, or any Spark sink it names."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.events import POSITION_SLICES, append_to_file, summary_figures, summary_line
from headrace.cli.kafka import send_to_kafka
from headrace.cli.pipeline import (
    Pipeline,
    Session,
    add_file_argument,
    add_run_arguments,
    open_messages,
    open_session,
    read_pipeline,
    spark_settings,
    supervise,
    trial,
    with_state,
)
from headrace.cli.sink_options import (
    check_supported,
    file_options,
    sink_options,
    unknown_options,
)
from headrace.errors import HeadraceError
from headrace.sinks.kafka import options as kafka_options
from headrace.spark.state_folder import exclusive

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.cli.messages import Messages
    from headrace.spark.supervisor import Summary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder for checkpoint and state (default: headrace.checkpoint.dir; the console "
        "sink starts anew without one)",
    )
    add_run_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGTERM, SIGINT or a limit."""
    messages = open_messages(arguments)
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.checkpoint), messages)
    sink = pipeline.config.headrace_sink_type or "console"
    check_supported(sink)
    if sink == "file":
        pipeline = pipeline.with_overrides(POSITION_SLICES)
    folder = arguments.checkpoint or pipeline.config.headrace_checkpoint_dir
    with _state_folder(sink, folder) as state, trial(pipeline, is_trial=not folder):
        summary = _run_sink(sink, pipeline, state, arguments, messages)
    messages.note(summary_line(summary, arguments), summary_figures(summary, arguments))
    return 0


@contextmanager
def _state_folder(sink: str, folder: str | None) -> Iterator[Path]:
    """The checkpoint folder; one that vanishes for a console without any."""
    if folder:
        yield Path(folder).absolute()
    elif sink == "console":
        with tempfile.TemporaryDirectory(prefix="headrace-") as temporary:
            yield Path(temporary)
    else:
        raise HeadraceError(
            "cli.checkpoint_missing",
            f"The sink {sink} needs a checkpoint",
            "Name a folder with --checkpoint or headrace.checkpoint.dir.",
        )


def _run_sink(
    sink: str,
    pipeline: Pipeline,
    state: Path,
    arguments: argparse.Namespace,
    messages: Messages,
) -> Summary:
    options = sink_options(sink, pipeline.config.headrace_sink)
    for name in unknown_options(sink, options):
        messages.warning(f"headrace.sink.{name}: the sink {sink} has no such option")
    checkpoint = state / "checkpoint"
    if sink == "file":
        file = file_options(options)
        return append_to_file(
            pipeline, file.path, state, checkpoint, arguments, "run", messages, sync=file.sync
        )
    if sink == "kafka":
        for name in kafka_options.unknown_options(pipeline.config.headrace_sink):
            messages.warning(f"headrace.sink.{name}: the sink kafka has no such option")
        return send_to_kafka(pipeline, state, checkpoint, arguments, messages)
    with exclusive(state, sink):
        pipeline.validate(checkpoint)
        session = open_session(
            "run",
            messages,
            kernels=pipeline.kernels(),
            master=arguments.master,
            idle_exit=arguments.idle_exit,
            debug=arguments.debug,
            own=spark_settings(pipeline, arguments),
        )
        try:
            return _stream_to(session, sink, options, pipeline, checkpoint, arguments, messages)
        finally:
            session.close()


def _stream_to(
    session: Session,
    sink: str,
    options: dict[str, str],
    pipeline: Pipeline,
    checkpoint: Path,
    arguments: argparse.Namespace,
    messages: Messages,
) -> Summary:
    spark = session.spark
    limits = pipeline.limits(
        idle_exit=arguments.idle_exit, seconds=arguments.seconds, prints=sink == "console"
    )
    if sink == "console":
        from headrace.sinks.console.sink import ConsoleSink

        messages.end()  # the sink has a live line of its own
        with ConsoleSink() as console:

            def start_console() -> StreamingQuery:
                writer = pipeline.stream(spark).writeStream.foreachBatch(console.write)
                return pipeline.start(writer, checkpoint)

            return supervise(session, start_console, limits, messages, on_progress=console.progress)

    def start() -> StreamingQuery:
        writer = pipeline.stream(spark).writeStream.format(sink).options(**options)
        try:
            return pipeline.start(writer, checkpoint)
        except Exception as error:
            if "DATA_SOURCE_NOT_FOUND" in str(error) or "ClassNotFound" in str(error):
                raise HeadraceError(
                    "cli.sink_not_found",
                    f"Spark knows no sink {sink}",
                    "Check headrace.sink.type; a sink outside Spark needs its package "
                    "(spark.jars.packages).",
                ) from error
            raise

    return supervise(session, start, limits, messages)
