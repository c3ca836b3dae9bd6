"""Write events to a file: one JSON line each, in total order, exactly once across restarts.

To standard output (`--output -`) at least once: a reader may have read what a killed run wrote.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.pipeline import (
    Pipeline,
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
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.spark.state_folder import exclusive

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.cli.messages import Messages
    from headrace.spark.supervisor import Summary


STANDARD_OUTPUT = "-"
POSITION_SLICES = {"headrace.slice.order": "position"}
"""What a sink that orders by `sequence` itself asks of the source."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "--output",
        required=True,
        metavar="OUT.jsonl",
        help="file to append to, exactly once; - writes to standard output, at least once",
    )
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="folder for checkpoint and state (with --output - it may be left out: every run "
        "starts anew then)",
    )
    add_run_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs until SIGTERM, SIGINT or a limit."""
    messages = open_messages(arguments, live=arguments.output != STANDARD_OUTPUT)
    pipeline = read_pipeline(arguments.file, with_state(POSITION_SLICES, arguments.state), messages)
    if arguments.output == STANDARD_OUTPUT:
        _check_texts(pipeline)
        with (
            trial(pipeline, is_trial=arguments.state is None),
            _state_folder(arguments.state) as state,
        ):
            summary = _print_lines(pipeline, state, arguments, messages)
    else:
        if arguments.state is None:
            raise HeadraceError(
                "cli.state_missing",
                "The output is a file, and --state is missing",
                "Name a folder for checkpoint and state with --state DIR.",
            )
        state = Path(arguments.state).absolute()
        output = Path(arguments.output).absolute()
        summary = append_to_file(
            pipeline, output, state, state / "checkpoint", arguments, "events", messages
        )
    messages.note(summary_line(summary, arguments), summary_figures(summary, arguments))
    return 0


def summary_line(summary: Summary, arguments: argparse.Namespace) -> str:
    """Events, seconds since the command began, restarts, and what a run without events waited
    for."""
    seconds = time.monotonic() - arguments.began
    restarts = f", {counted(summary.restarts, 'restart')}" if summary.restarts else ""
    waited = f"; {summary.waited_for}" if summary.waited_for and not summary.rows else ""
    return f"{counted(summary.rows, 'event')} in {seconds:.1f} s{restarts}{waited}"


def summary_figures(summary: Summary, arguments: argparse.Namespace) -> dict[str, int | float]:
    """The numbers of the summary."""
    return {
        "events": summary.rows,
        "seconds": round(time.monotonic() - arguments.began, 1),
        "restarts": summary.restarts,
    }


@contextmanager
def _state_folder(folder: str | None) -> Iterator[Path]:
    """The state folder; one that vanishes where none is named."""
    if folder is not None:
        yield Path(folder).absolute()
        return
    with tempfile.TemporaryDirectory(prefix="headrace-") as temporary:
        yield Path(temporary)


def _print_lines(
    pipeline: Pipeline, state: Path, arguments: argparse.Namespace, messages: Messages
) -> Summary:
    """Streams a pipeline to standard output until a limit or a signal."""
    from headrace.sinks.file.standard_output import StandardOutputSink

    checkpoint = state / "checkpoint"
    with exclusive(state, "standard output"):
        pipeline.validate(checkpoint)
        session = open_session(
            "events",
            messages,
            kernels=pipeline.kernels("file"),
            master=arguments.master,
            idle_exit=arguments.idle_exit,
            debug=arguments.debug,
            own=spark_settings(pipeline, arguments),
        )
        try:
            sink = StandardOutputSink(texts=pipeline.config.plain_texts())

            def start() -> StreamingQuery:
                writer = pipeline.stream(session.spark).writeStream.foreachBatch(sink.write)
                return pipeline.start(writer, checkpoint)

            limits = pipeline.limits(
                idle_exit=arguments.idle_exit, seconds=arguments.seconds, prints=True
            )
            return supervise(session, start, limits, messages)
        finally:
            session.close()


def _check_texts(pipeline: Pipeline) -> None:
    """Refuse converters that make neither JSON nor texts, before anything starts."""
    for role in ("key", "value", "header"):
        if not pipeline.config.is_text(role):
            name = f"{role}.converter"
            raise HeadraceError(
                "file.column",
                f"The events are written as lines of JSON, and what "
                f"{name}={pipeline.config.converter(role).value} makes cannot be shown in JSON",
                f"Use {name}=json or {name}=string, or another sink, such as Kafka or Delta.",
            )


def append_to_file(
    pipeline: Pipeline,
    output: Path,
    state: Path,
    checkpoint: Path,
    arguments: argparse.Namespace,
    verb: str,
    messages: Messages,
    *,
    sync: bool = True,
) -> Summary:
    """Streams a pipeline into the file sink until a limit or a signal."""
    from headrace.sinks.file.output import Output

    _check_texts(pipeline)
    target = Output(output, state / "file", sync=sync)
    target.look()
    with exclusive(state, "file"), contextlib.ExitStack() as held:
        pipeline.validate(checkpoint)
        before = target.open().rows
        held.enter_context(target.owned())
        session = open_session(
            verb,
            messages,
            kernels=pipeline.kernels("file"),
            master=arguments.master,
            idle_exit=arguments.idle_exit,
            debug=arguments.debug,
            own=spark_settings(pipeline, arguments),
            tasks=pipeline.begins_with_tasks(checkpoint),
        )
        try:
            from headrace.spark.parts_sink import PartsSink
            from headrace.spark.sinks.foreach_batch import calls_for_each_batch

            sink = PartsSink(session.spark, target, checkpoint)

            def start() -> StreamingQuery:
                writer = pipeline.parts(session.spark, target, checkpoint).writeStream
                writer = calls_for_each_batch(session.spark, writer, sink)
                return pipeline.start(writer, checkpoint)

            limits = pipeline.limits(idle_exit=arguments.idle_exit, seconds=arguments.seconds)
            summary = supervise(session, start, limits, messages, rows_of=sink.new_rows)
            summary.rows = target.rows() - before
            return summary
        finally:
            session.close()
            target.close()
