"""Send a signal to a running connector: snapshot tables, stop, pause, resume, log."""

from __future__ import annotations

import argparse

from headrace.cli.messages import Messages
from headrace.cli.pipeline import read_pipeline
from headrace.connectors.registry import send_signal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="Debezium configuration: properties or JSON")
    parser.add_argument(
        "type",
        metavar="TYPE",
        help="execute-snapshot, stop-snapshot, pause-snapshot, resume-snapshot, log",
    )
    parser.add_argument("data", metavar="DATA", nargs="?", default="{}", help="a JSON object")
    parser.add_argument("--id", help="the signal's id (default: a random one)")
    parser.add_argument(
        "--channel",
        choices=("source", "kafka", "file"),
        help="how it travels (default: the first that the configuration has)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Prints the signal's id, which its notifications carry."""
    config = read_pipeline([arguments.file], {}, Messages()).config
    print(
        send_signal(
            config, arguments.type, arguments.data, name=arguments.id, channel=arguments.channel
        )
    )
    return 0
