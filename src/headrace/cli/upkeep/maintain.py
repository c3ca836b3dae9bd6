"""Merge small files of replicas and event logs, and forget old snapshots, while their query runs or
not."""

from __future__ import annotations

import argparse

from headrace.cli.pipeline import (
    add_file_argument,
    add_session_arguments,
    open_messages,
    open_session,
    read_pipeline,
    with_state,
)
from headrace.cli.sinks import sink_settings, with_sink
from headrace.cli.upkeep.query_folder import add_folder_argument, query_folder
from headrace.spark.sinks.definition import SinkQuery
from headrace.spark.sinks.registry import find_sink


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    add_file_argument(parser)
    add_folder_argument(parser)
    add_session_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints what was done to each table."""
    messages = open_messages(arguments)
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.checkpoint), messages)
    definition = find_sink(pipeline.config.headrace_sink_type or "console")
    pipeline = with_sink(pipeline, definition)
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
        own=sink_settings(definition, pipeline, arguments),
    )
    try:
        messages.end()
        for line in definition.maintain(session.spark, query):
            print(line, flush=True)
    finally:
        session.close()
    return 0
