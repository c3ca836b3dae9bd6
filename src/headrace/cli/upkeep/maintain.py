"""Merge small files of replicas and event logs, and forget old snapshots, while their query runs or
not; or erase a key."""

from __future__ import annotations

import argparse

from headrace.cli.pipeline import (
    add_file_argument,
    add_session_arguments,
    open_messages,
    open_session,
)
from headrace.cli.sinks import sink_settings
from headrace.cli.upkeep.query import add_folder_argument, query_folder, query_of_file
from headrace.spark.sinks.definition import SinkQuery
from headrace.spark.state_folder import exclusive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_file_argument(parser)
    add_folder_argument(parser)
    parser.add_argument(
        "--erase",
        nargs=2,
        metavar=("TABLE", "KEY"),
        help="erase the rows of a key (a JSON object of its columns) from a table of a query that "
        "does not run: from its current rows, its history and its change log, and their files",
    )
    add_session_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the result for each table."""
    messages = open_messages(arguments)
    pipeline, definition = query_of_file(arguments, messages)
    state = query_folder("maintain", arguments, pipeline.config)
    query = SinkQuery(pipeline.config, state / definition.name, state / "checkpoint")
    definition.require_upkeep(pipeline.config)
    session = open_session(
        "maintain",
        messages,
        kernels={},
        master=arguments.master,
        idle_exit=None,
        debug=arguments.debug,
        user_settings=sink_settings(definition, pipeline, arguments),
    )
    try:
        messages.end()
        if arguments.erase is None:
            for line in definition.maintain(session.spark, query):
                print(line, flush=True)
        else:
            with exclusive(state, definition.name):
                for line in definition.erase(session.spark, query, *arguments.erase):
                    print(line, flush=True)
    finally:
        session.close()
    return 0
