"""Copy a replica's table again, while the others are replicated."""

from __future__ import annotations

import argparse
import json
import uuid
from pathlib import Path

from headrace.cli.messages import Messages
from headrace.cli.pipeline import add_file_argument, read_pipeline, with_state
from headrace.cli.signal import add_wait_argument, wait_for_signal
from headrace.cli.sinks import with_sink
from headrace.connectors.registry import captured_tables, send_signal
from headrace.errors import HeadraceError
from headrace.spark.sinks.registry import find_sink
from headrace.spark.state_folder import require_known_format


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    add_file_argument(parser)
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="as the connector names it: schema.table, or db.collection; a regular expression "
        "selects every table that it matches",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="folder of the query's checkpoint and state (default: headrace.checkpoint.dir)",
    )
    parser.add_argument(
        "--where",
        metavar="CONDITION",
        help="copy only the rows that match this condition at the source, and keep the others",
    )
    add_wait_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Prints the id of the signal that asks for the rows, and what becomes of it."""
    pipeline = read_pipeline(arguments.file, with_state({}, arguments.checkpoint), Messages())
    definition = find_sink(pipeline.config.headrace_sink_type or "console")
    config = with_sink(pipeline, definition).config
    folder = arguments.checkpoint or config.headrace_checkpoint_dir
    if folder is None:
        raise HeadraceError(
            "cli.checkpoint_missing",
            "headrace resync needs the query's folder",
            "Name it with --checkpoint or headrace.checkpoint.dir.",
        )
    signal = str(uuid.uuid4())
    require_known_format(Path(folder))
    state = Path(folder).absolute() / definition.name
    if not state.is_dir():
        raise HeadraceError(
            "cli.no_checkpoint",
            f"{folder} is not a checkpoint of a query into {definition.name}: none has run with it",
            "Name the folder of headrace run --checkpoint.",
        )

    def request() -> None:
        """What a refused signal must not leave: the table would be emptied."""
        if arguments.where is None:
            definition.resync(config, state, captured_tables(config, arguments.table), signal)

    data: dict[str, object] = {"data-collections": [arguments.table]}
    if arguments.where is not None:
        condition = {"data-collection": arguments.table, "filter": arguments.where}
        data["additional-conditions"] = [condition]
    text = json.dumps(data)
    print(send_signal(config, "execute-snapshot", text, name=signal, before=request), flush=True)
    return 0 if arguments.wait is None else wait_for_signal(config, signal, arguments.wait)
