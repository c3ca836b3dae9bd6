"""Write events to a file: one JSON line each, in total order, exactly once across restarts.

To standard output (`--output -`) at least once: a reader may have read what a killed run wrote.
"""

from __future__ import annotations

import argparse
import time
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
from headrace.cli.sinks import run_sink, state_folder
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.sinks.file.definition import FileDefinition
from headrace.sinks.file.standard_output import StandardOutputDefinition
from headrace.spark.sinks.definition import SinkDefinition

if TYPE_CHECKING:
    from headrace.spark.supervisor import Summary


STANDARD_OUTPUT = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
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
        help="folder for checkpoint and state (optional with --output -: then every run starts "
        "from the beginning)",
    )
    add_run_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM, SIGINT or a limit."""
    messages = open_messages(arguments, live=arguments.output != STANDARD_OUTPUT)
    is_file = arguments.output != STANDARD_OUTPUT
    definition: SinkDefinition = (
        FileDefinition(Path(arguments.output).absolute()) if is_file else StandardOutputDefinition()
    )
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.state), messages)
    missing = HeadraceError(
        "cli.state_missing",
        "The output is a file, and --state is missing",
        "Name a folder for checkpoint and state with --state DIR.",
    )
    with (
        trial(pipeline, is_trial=arguments.state is None and not is_file),
        state_folder(arguments.state, missing if is_file else None) as state,
    ):
        summary = run_sink(definition, pipeline, state, arguments, "events", messages)
    messages.note(summary_line(summary, arguments), summary_figures(summary, arguments))
    return 0


def summary_line(summary: Summary, arguments: argparse.Namespace) -> str:
    """Return events, seconds since the command began, restarts, and what a run without events
    waited for."""
    seconds = time.monotonic() - arguments.began
    restarts = f", {counted(summary.restarts, 'restart')}" if summary.restarts else ""
    waited = f"; {summary.waited_for}" if summary.waited_for and not summary.rows else ""
    return f"{counted(summary.rows, 'event')} in {seconds:.1f} s{restarts}{waited}"


def summary_figures(summary: Summary, arguments: argparse.Namespace) -> dict[str, int | float]:
    """Return the numbers of the summary."""
    return {
        "events": summary.rows,
        "seconds": round(time.monotonic() - arguments.began, 1),
        "restarts": summary.restarts,
    }
