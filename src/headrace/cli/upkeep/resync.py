"""Copy a replica's table again, while the others are replicated."""

from __future__ import annotations

import argparse
import json
import uuid
from pathlib import Path

from headrace.cli.messages import Messages
from headrace.cli.pipeline import add_file_argument
from headrace.cli.signal import add_wait_argument, wait_for_signal
from headrace.cli.upkeep.query import (
    add_folder_argument,
    query_folder,
    query_of_file,
    require_query,
)
from headrace.config.properties.connector import ConnectorConfig
from headrace.connectors.registry import captured_tables, send_signal
from headrace.spark.sinks.definition import SinkDefinition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="as the connector names it: schema.table, or db.collection; a regular expression "
        "selects every table that it matches",
    )
    add_folder_argument(parser)
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        help="copy only the rows that match this condition at the source, and keep the others",
    )
    add_wait_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the id of the signal that requests the rows, and its outcome."""
    pipeline, definition = query_of_file(arguments, Messages())
    config = pipeline.config
    folder = query_folder("resync", arguments, config)
    require_query(folder, definition.name)
    signal = copy_again(config, definition, folder, arguments.table, arguments.where)
    print(signal, flush=True)
    return 0 if arguments.wait is None else wait_for_signal(config, signal, arguments.wait)


def copy_again(
    config: ConnectorConfig,
    definition: SinkDefinition,
    folder: Path,
    table: str,
    condition: str | None,
) -> str:
    """Request the rows of the captured tables that an expression of a signal names, or only those
    that match a condition; return the id of the signal. `folder` is that of the query. Raises
    HeadraceError."""
    signal = str(uuid.uuid4())

    def request() -> None:
        """Announce the resync to the sink, once the signal is checked: after a refused signal, the
        table would be emptied."""
        if condition is None:
            state = folder / definition.name
            definition.resync(config, state, captured_tables(config, table), signal)

    data: dict[str, object] = {"data-collections": [table]}
    if condition is not None:
        filtered = {"data-collection": table, "filter": condition}
        data["additional-conditions"] = [filtered]
    return send_signal(config, "execute-snapshot", json.dumps(data), name=signal, before=request)
