"""Write events to a file: one JSON line each, in total order, exactly once across restarts.

To standard output (`--output -`) at least once: a reader may have read what a killed run wrote.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.pipeline import (
    add_file_argument,
    add_run_arguments,
    open_messages,
    read_pipeline,
    trial,
    with_state,
)
from headrace.cli.sinks import run_sink
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.sinks.file.standard_output import StandardOutputDefinition
from headrace.spark.sinks.definition import SinkDefinition
from headrace.spark.sinks.registry import find_sink

if TYPE_CHECKING:
    from headrace.spark.supervisor import Summary


STANDARD_OUTPUT = "-"


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
    overrides = with_state({}, arguments.state)
    definition: SinkDefinition
    if arguments.output == STANDARD_OUTPUT:
        definition = StandardOutputDefinition()
    else:
        if arguments.state is None:
            raise HeadraceError(
                "cli.state_missing",
                "The output is a file, and --state is missing",
                "Name a folder for checkpoint and state with --state DIR.",
            )
        definition = find_sink("file")
        overrides |= {
            "headrace.sink.type": "file",
            "headrace.sink.path": str(Path(arguments.output).absolute()),
        }
    pipeline = read_pipeline(arguments.file, overrides, messages)
    with trial(pipeline, is_trial=arguments.state is None), _state_folder(arguments.state) as state:
        summary = run_sink(definition, pipeline, state, arguments, "events", messages)
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
