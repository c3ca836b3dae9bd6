"""Merge small files of replicas, and forget old snapshots, while their query runs or not."""

from __future__ import annotations

import argparse
from pathlib import Path

from headrace.cli.pipeline import (
    add_file_argument,
    add_session_arguments,
    open_messages,
    open_session,
    read_pipeline,
    with_state,
)
from headrace.cli.sinks import sink_settings, with_sink
from headrace.errors import HeadraceError
from headrace.spark.sinks.definition import SinkQuery
from headrace.spark.sinks.registry import find_sink
from headrace.spark.state_folder import require_known_format


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder of the query's checkpoint and state (default: headrace.checkpoint.dir)",
    )
    add_session_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints what was done to each table."""
    messages = open_messages(arguments)
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.checkpoint), messages)
    definition = find_sink(pipeline.config.headrace_sink_type or "console")
    pipeline = with_sink(pipeline, definition)
    folder = arguments.checkpoint or pipeline.config.headrace_checkpoint_dir
    if folder is None:
        raise HeadraceError(
            "cli.checkpoint_missing",
            "headrace maintain needs the query's folder",
            "Name it with --checkpoint or headrace.checkpoint.dir.",
        )
    require_known_format(Path(folder))
    state = Path(folder).absolute()
    query = SinkQuery(pipeline.config, state / definition.name, state / "checkpoint")
    definition.require_upkeep(pipeline.config)
    session = open_session(
        "maintain",
        messages,
        kernels={},
        master=arguments.master,
        idle_exit=None,
        debug=arguments.debug,
        own=sink_settings(definition, pipeline, arguments),
    )
    try:
        messages.end()
        for line in definition.maintain(session.spark, query):
            print(line, flush=True)
    finally:
        session.close()
    return 0
