"""Run a configuration: events go to the sink it names, headrace's, a package's or Spark's."""

from __future__ import annotations

import argparse

from headrace.cli.events import summary_figures, summary_line
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
from headrace.spark.sinks.registry import find_sink


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder for checkpoint and state (default: headrace.checkpoint.dir; without one, the "
        "console sink starts from the beginning)",
    )
    add_run_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM, SIGINT or a limit."""
    messages = open_messages(arguments)
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.checkpoint), messages)
    definition = find_sink(pipeline.config.headrace_sink_type or "console")
    folder = arguments.checkpoint or pipeline.config.headrace_checkpoint_dir
    missing = HeadraceError(
        "cli.checkpoint_missing",
        f"The sink {definition.name} needs a checkpoint",
        "Name a folder with --checkpoint or headrace.checkpoint.dir.",
    )
    with (
        state_folder(folder, missing if definition.needs_checkpoint else None) as state,
        trial(pipeline, is_trial=not folder),
    ):
        for warning in definition.option_warnings(pipeline.config):
            messages.warning(str(warning))
        summary = run_sink(definition, pipeline, state, arguments, "run", messages)
    messages.note(summary_line(summary, arguments), summary_figures(summary, arguments))
    return 0
