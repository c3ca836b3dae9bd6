"""Compare replicas with their source, row by row, while they are replicated.

Exit status: 0 the rows are equal, 1 rows differ, a table was not compared, or an error, 2 wrong
usage.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence

from headrace.cli.messages import Messages
from headrace.cli.pipeline import (
    Pipeline,
    add_file_argument,
    add_session_arguments,
    open_messages,
    open_session,
    positive_seconds,
)
from headrace.cli.sinks import sink_settings
from headrace.cli.stopping import STOP
from headrace.cli.upkeep.query import (
    add_folder_argument,
    query_folder,
    query_of_file,
    require_query,
)
from headrace.cli.upkeep.resync import copy_again
from headrace.findings import counted
from headrace.signals.data_collections import check_expression, named
from headrace.spark.sinks.comparison import ComparedTable, ComparisonRequest, Repair
from headrace.spark.sinks.definition import SinkDefinition, SinkQuery

_WAIT_SECONDS, _MAX_SHOWN = 300.0, 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = __doc__
    add_file_argument(parser)
    add_folder_argument(parser)
    parser.add_argument(
        "--table", action="append", default=[], type=_expression, metavar="TABLE",
        help="compare only the replicas of this table of the source: schema.table, db.collection, "
        "or a regular expression; may be repeated (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--rate", type=_positive_number, metavar="ROWS",
        help="read at most this many rows of the source in a second",
    )  # fmt: skip
    parser.add_argument(
        "--wait", type=positive_seconds, default=_WAIT_SECONDS, metavar="SECONDS",
        help="end with an error if the query makes no progress so long while rows that differ wait "
        f"to be confirmed (default: {_WAIT_SECONDS:.0f})",
    )  # fmt: skip
    parser.add_argument(
        "--limit", type=_whole_number, default=_MAX_SHOWN, metavar="ROWS",
        help=f"show at most this many differing rows of a table (default: {_MAX_SHOWN})",
    )  # fmt: skip
    parser.add_argument(
        "--repair",
        action="store_true",
        help="copy the rows that differ again, as headrace resync does; surplus rows need all rows "
        "of their table",
    )
    parser.add_argument(
        "--restart",
        action="store_true",
        help="begin again instead of continuing a comparison that was interrupted",
    )
    parser.add_argument(
        "--json", action="store_true", help="print an array with an object for each table"
    )
    add_session_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the result of each table; return 1 if rows differ, or a table was not compared."""
    messages = open_messages(arguments)
    pipeline, definition = query_of_file(arguments, messages)
    definition.require_comparison(pipeline.config)
    folder = query_folder("verify", arguments, pipeline.config)
    require_query(folder, definition.name)
    reading = pipeline.with_overrides(definition.comparison_overrides)
    query = SinkQuery(reading.config, folder / definition.name, folder / "checkpoint")
    session = open_session(
        "verify",
        messages,
        kernels=reading.kernels(definition.kernels_of(reading.config)),
        master=arguments.master,
        idle_exit=None,
        debug=arguments.debug,
        user_settings=sink_settings(definition, pipeline, arguments),
        tasks=False,
    )
    compared: list[ComparedTable] = []
    try:
        messages.end()
        request = _request(arguments, messages)
        for table in definition.compare(session.spark, query, request):
            compared.append(table)
            if not arguments.json:
                print("\n".join(lines_of(table)), flush=True)
    finally:
        session.close()
    if arguments.json:
        print(json.dumps([table.to_json() for table in compared], indent=2, ensure_ascii=False))
    if arguments.repair:
        _repair(compared, pipeline, definition, arguments, messages)
    return 0 if all(table.is_equal for table in compared) else 1


def lines_of(table: ComparedTable) -> Sequence[str]:
    """Return the lines for a table: one for its result, and one for each difference that is
    shown."""
    if table.why:
        why = table.why.removeprefix(f"{table.name} is not compared: ")
        return [f"{table.name}: not compared: {why}"]
    parts = [
        f"{counted(table.rows, 'row')} in {counted(table.chunks, 'chunk')}",
        f"{table.differing:,} differ" if table.differing else "equal",
    ]
    if table.unsettled:
        parts.append(f"{table.unsettled:,} changed each time they were read")
    if table.position:
        parts.append(f"confirmed at {table.position}")
    lines = [f"{table.name}: {', '.join(parts)}"]
    lines += [f"  {difference}" for difference in table.differences]
    if table.differing > len(table.differences):
        lines.append(f"  and {table.differing - len(table.differences):,} more")
    return [*lines, *(f"  note: {note}" for note in table.notes)]


def _request(arguments: argparse.Namespace, messages: Messages) -> ComparisonRequest:
    expressions: list[str] = arguments.table

    def is_chosen(name: str) -> bool:
        return not expressions or any(named(expression, [name]) for expression in expressions)

    return ComparisonRequest(
        is_chosen,
        arguments.rate,
        arguments.limit,
        arguments.wait,
        arguments.restart,
        STOP.check,
        messages.note,
    )


def _repair(
    compared: Sequence[ComparedTable],
    pipeline: Pipeline,
    definition: SinkDefinition,
    arguments: argparse.Namespace,
    messages: Messages,
) -> None:
    folder = query_folder("verify", arguments, pipeline.config)
    for table in compared:
        for repair in table.repairs:
            signal = copy_again(
                pipeline.config, definition, folder, _expression_of(repair), repair.condition
            )
            extent = "all rows" if repair.condition is None else "the rows that differ"
            sources = ", ".join(repair.tables)
            messages.info(f"{table.name}: {extent} of {sources} are copied again ({signal})")


def _expression_of(repair: Repair) -> str:
    """Return the expression of a signal for the tables: a name in quotes, or a regular expression
    for several."""
    if len(repair.tables) > 1:
        return "|".join(map(re.escape, repair.tables))
    (name,) = repair.tables
    return '"' + name.replace('"', '""') + '"'


def _expression(text: str) -> str:
    try:
        check_expression(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def _positive_number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def _whole_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
