"""Write events to a file: one JSON line each, in total order, exactly once across restarts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

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
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.spark.supervisor import Summary


POSITION_SLICES = {"headrace.slice.order": "position"}
"""What a sink that orders by `sequence` itself asks of the source."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument("--output", required=True, metavar="OUT.jsonl", help="file to append to")
    parser.add_argument(
        "--state", required=True, metavar="DIR", help="folder for checkpoint and state"
    )
    add_run_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGTERM, SIGINT or a limit."""
    state = Path(arguments.state).absolute()
    pipeline = read_pipeline(arguments.file, POSITION_SLICES)
    summary = append_to_file(
        pipeline,
        Path(arguments.output).absolute(),
        state,
        state / "checkpoint",
        arguments,
        "events",
    )
    print(
        f"{summary.rows:,} events in {summary.seconds:.1f} s, {summary.restarts} restarts",
        file=sys.stderr,
    )
    return 0


def _check_texts(pipeline: Pipeline) -> None:
    """Refuse converters whose bytes are no text of a line."""
    for role in ("key", "value", "header"):
        if not pipeline.config.is_text(role):
            name = f"{role}.converter"
            raise HeadraceError(
                "file.column",
                f"The file sink writes {role}s as JSON, and "
                f"{name}={pipeline.config.converter(role).value} makes bytes",
                f"Use {name}=json, or another sink, such as Kafka or Delta.",
            )


def append_to_file(
    pipeline: Pipeline,
    output: Path,
    state: Path,
    checkpoint: Path,
    arguments: argparse.Namespace,
    verb: str,
    *,
    sync: bool = True,
) -> Summary:
    """Streams a pipeline into the file sink until a limit or a signal."""
    from headrace.sinks.file.output import Output

    _check_texts(pipeline)
    target = Output(output, state / "file", sync=sync)
    target.look()
    with exclusive(state):
        pipeline.validate(checkpoint)
        before = target.open().rows
        spark = open_session(
            verb,
            master=arguments.master,
            idle_exit=arguments.idle_exit,
            debug=arguments.debug,
            tasks=pipeline.begins_with_tasks(checkpoint),
        )
        try:
            from headrace.spark.parts_sink import PartsSink
            from headrace.spark.sinks.foreach_batch import calls_for_each_batch

            sink = PartsSink(spark, target, checkpoint)

            def start() -> StreamingQuery:
                writer = pipeline.parts(spark, target, checkpoint).writeStream
                return pipeline.start(calls_for_each_batch(spark, writer, sink), checkpoint)

            limits = pipeline.limits(idle_exit=arguments.idle_exit, seconds=arguments.seconds)
            summary = supervise(spark, start, limits, rows_of=sink.new_rows)
            summary.rows = target.rows() - before
            return summary
        finally:
            close_session(spark)
