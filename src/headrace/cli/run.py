"""Run a configuration: events go to the console, a file, or any Spark sink it names."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.cli.events import append_to_file, position_slices
from headrace.cli.pipeline import (
    Pipeline,
    add_run_arguments,
    check_pipeline,
    close_session,
    exclusive,
    open_session,
    supervise,
)
from headrace.config.source import Properties, read_file
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.spark.supervisor import Summary

# Debezium Server's names of sinks, and Spark's where they differ.
_FORMATS = {"kafka": "kafka", "http": None, "kinesis": None, "pubsub": None, "pulsar": None}
_OWN_OPTIONS = ("type", "trigger")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="Debezium configuration: properties or JSON")
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder for checkpoint and state (default: headrace.checkpoint.dir; the console "
        "sink starts anew without one)",
    )
    add_run_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGTERM, SIGINT or a limit."""
    given = read_file(arguments.file)
    sink = given.get("headrace.sink.type", "").strip() or "console"
    folder = arguments.checkpoint or given.get("headrace.checkpoint.dir", "").strip()
    with _state_folder(sink, folder) as state:
        overrides = {}
        if not given.get("headrace.state.dir", "").strip():
            overrides["headrace.state.dir"] = str(state / "source")
        if sink == "file":
            overrides |= position_slices(state)
        pipeline = check_pipeline(given, overrides)
        summary = _run_sink(sink, pipeline, state, arguments)
    print(
        f"{summary.rows:,} events in {summary.seconds:.1f} s, {summary.restarts} restarts",
        file=sys.stderr,
    )
    return 0


def sink_options(properties: Properties) -> dict[str, str]:
    """Options of the sink without the prefix; Debezium Server's `sink.kafka.X` become `X`."""
    prefix = "headrace.sink."
    sink = properties.get("headrace.sink.type", "").strip()
    found = {}
    for name in properties:
        option = name.removeprefix(prefix)
        if option == name or option in _OWN_OPTIONS:
            continue
        if sink == "kafka" and option.startswith("producer."):
            # Debezium Server's producer.X is kafka.X in Spark.
            option = f"kafka.{option.removeprefix('producer.')}"
        elif sink and option.startswith(f"{sink}.producer."):
            option = f"kafka.{option.removeprefix(f'{sink}.producer.')}"
        elif sink != "kafka" and sink and option.startswith(f"{sink}."):
            option = option.removeprefix(f"{sink}.")
        found[option] = properties[name]
    return found


@contextmanager
def _state_folder(sink: str, folder: str) -> Iterator[Path]:
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
    from headrace.config.references import resolve

    wanted = {name: resolve(text) for name, text in sink_options(pipeline.properties).items()}
    checkpoint = state / "checkpoint"
    if sink == "file":
        if not wanted.get("path"):
            raise HeadraceError(
                "cli.sink_path_missing",
                "headrace.sink.type=file needs headrace.sink.path",
                "Set headrace.sink.path to the output file.",
            )
        output = Path(wanted["path"]).absolute()
        return append_to_file(pipeline, output, state, checkpoint, arguments, "run")
    if sink in _FORMATS and _FORMATS[sink] is None:
        raise HeadraceError(
            "cli.sink_not_supported",
            f"The sink {sink} is not in this version",
            "Use console, file, or a format name of Spark.",
        )
    with exclusive(state):
        pipeline.validate(checkpoint)
        spark = open_session(
            "run", master=arguments.master, idle_exit=arguments.idle_exit, debug=arguments.debug
        )
        try:
            return _stream_to(spark, sink, wanted, pipeline, checkpoint, arguments)
        finally:
            close_session(spark)


def _stream_to(
    spark: Any,
    sink: str,
    wanted: dict[str, str],
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
                return _start(writer, checkpoint, pipeline)

            return supervise(spark, start_console, limits, on_progress=console.progress)

    def start() -> StreamingQuery:
        writer = pipeline.stream(spark).writeStream.format(sink).options(**wanted)
        try:
            return _start(writer, checkpoint, pipeline)
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


def _start(writer: Any, checkpoint: Path, pipeline: Pipeline) -> StreamingQuery:
    trigger = pipeline.properties.get("headrace.trigger", "").strip()
    writer = writer.option("checkpointLocation", str(checkpoint))
    if trigger.lower() == "availablenow":
        writer = writer.trigger(availableNow=True)
    elif trigger:
        writer = writer.trigger(processingTime=trigger)
    query: StreamingQuery = writer.start()
    return query
