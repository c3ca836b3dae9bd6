"""Run a configuration: events go to the console, a file, or any Spark sink it names."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.events import POSITION_SLICES, append_to_file
from headrace.cli.kafka import send_to_kafka
from headrace.cli.pipeline import (
    Pipeline,
    add_file_argument,
    add_run_arguments,
    close_session,
    exclusive,
    open_session,
    read_pipeline,
    supervise,
)
from headrace.cli.sink_options import (
    check_supported,
    file_options,
    sink_options,
    unknown_options,
)
from headrace.connectors.registry import definition_of, require_driver
from headrace.errors import HeadraceError
from headrace.sinks.kafka import options as kafka_options

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

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
    pipeline = read_pipeline(arguments.file, {})
    sink = pipeline.config.headrace_sink_type or "console"
    if sink == "file":
        pipeline = pipeline.with_overrides(POSITION_SLICES)
    folder = arguments.checkpoint or pipeline.config.headrace_checkpoint_dir
    with _trial(pipeline, is_trial=not folder), _state_folder(sink, folder) as state:
        summary = _run_sink(sink, pipeline, state, arguments)
    print(
        f"{summary.rows:,} events in {summary.seconds:.1f} s, {summary.restarts} restarts",
        file=sys.stderr,
    )
    return 0


@contextmanager
def _trial(pipeline: Pipeline, *, is_trial: bool) -> Iterator[None]:
    """Around a run without checkpoint: the database keeps nothing for it."""
    if not is_trial:
        yield
        return
    definition = definition_of(pipeline.config)
    require_driver(definition)
    with definition.trial(pipeline.config):
        yield


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


def _run_sink(sink: str, pipeline: Pipeline, state: Path, arguments: argparse.Namespace) -> Summary:
    options = sink_options(sink, pipeline.config.headrace_sink)
    for name in unknown_options(sink, options):
        print(f"warning: headrace.sink.{name}: the sink {sink} has no such option", file=sys.stderr)
    checkpoint = state / "checkpoint"
    if sink == "file":
        file = file_options(options)
        return append_to_file(
            pipeline, file.path, state, checkpoint, arguments, "run", sync=file.sync
        )
    if sink == "kafka":
        for name in kafka_options.unknown_options(pipeline.config.headrace_sink):
            print(
                f"warning: headrace.sink.{name}: the sink kafka has no such option", file=sys.stderr
            )
        return send_to_kafka(pipeline, state, checkpoint, arguments)
    check_supported(sink)
    with exclusive(state):
        pipeline.validate(checkpoint)
        spark = open_session(
            "run", master=arguments.master, idle_exit=arguments.idle_exit, debug=arguments.debug
        )
        try:
            return _stream_to(spark, sink, options, pipeline, checkpoint, arguments)
        finally:
            close_session(spark)


def _stream_to(
    spark: Any,
    sink: str,
    options: dict[str, str],
    pipeline: Pipeline,
    checkpoint: Path,
    arguments: argparse.Namespace,
) -> Summary:
    limits = pipeline.limits(idle_exit=arguments.idle_exit, seconds=arguments.seconds)
    if sink == "console":
        from headrace.sinks.console.sink import ConsoleSink

        with ConsoleSink() as console:

            def start_console() -> StreamingQuery:
                writer = pipeline.stream(spark).writeStream.foreachBatch(console.write)
                return pipeline.start(writer, checkpoint)

            return supervise(spark, start_console, limits, on_progress=console.progress)

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

    return supervise(spark, start, limits)
