"""Send a signal to a running connector: snapshot tables, stop, pause, resume, log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from headrace.cli.messages import Messages
from headrace.cli.pipeline import positive_seconds, read_pipeline
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import send_signal

_WAIT_SECONDS = 60.0
_EXAMPLES = """examples:
  headrace signal FILE execute-snapshot '{"data-collections": ["inventory.orders"]}' --wait
  headrace signal FILE execute-snapshot '{"type": "blocking", "data-collections": ["inventory.*"]}'
  headrace signal FILE execute-snapshot '{"data-collections": ["inventory.orders"],
      "additional-conditions": [{"data-collection": "inventory.orders", "filter": "id > 100"}]}'
  headrace signal FILE stop-snapshot '{"data-collections": ["inventory.orders"]}'
  headrace signal FILE pause-snapshot
  headrace signal FILE resume-snapshot
  headrace signal FILE log '{"message": "the stream is at {}"}'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EXAMPLES
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
        help="the signal channel (default: the first one of the configuration)",
    )
    add_wait_argument(parser)


def add_wait_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the argument of `wait_for_signal`."""
    parser.add_argument(
        "--wait",
        nargs="?",
        type=positive_seconds,
        const=_WAIT_SECONDS,
        metavar="SECONDS",
        help="wait for a query on this host to take up the signal, this many seconds at most "
        "(default: 60), and report its outcome; exit status 1 if it is ignored, given up or not "
        "taken up",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the signal's id, which its notifications carry, and its outcome."""
    config = read_pipeline([arguments.file], {}, Messages()).config
    signal = send_signal(
        config, arguments.type, arguments.data, name=arguments.id, channel=arguments.channel
    )
    print(signal, flush=True)
    return 0 if arguments.wait is None else wait_for_signal(config, signal, arguments.wait)


def wait_for_signal(config: ConnectorConfig, signal: str, seconds: float) -> int:
    """Print the outcomes of a signal; return 0 if all that it requested was done."""
    from headrace.spark.query.signals import wait_for_outcome

    failed = False
    for outcome in wait_for_outcome(config, signal, seconds):
        print(_line(outcome.kind, outcome.data), file=sys.stderr, flush=True)
        status = outcome.data.get("status", "SUCCEEDED")
        failed |= outcome.kind in ("IGNORED", "ABORTED") or status not in ("SUCCEEDED", "EMPTY")
    return int(failed)


def _line(kind: str, data: Mapping[str, str]) -> str:
    match kind:
        case "HEEDED":
            return "received"
        case "IGNORED":
            return f"ignored: {data['reason']}"
        case "STARTED" | "ABORTED" | "PAUSED" | "RESUMED":
            return f"{kind.lower()}: {data.get('data_collections', '')}".rstrip(": ")
        case "IN_PROGRESS":
            last, most = data.get("last_processed_key"), data.get("maximum_key")
            return f"reading {data.get('current_collection_in_progress')}, at {last} of {most}"
        case "TABLE_SCAN_COMPLETED":
            rows = int(data.get("total_rows_scanned") or 0)
            return f"{data.get('scanned_collection')}: {rows:,} rows, {data.get('status')}"
    return kind.lower().replace("_", " ")
