"""Watch a small shop's database as change events or as tables of a lake, with live changes."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.panel import Panel

from headrace.cli.pipeline import positive_seconds
from headrace.connectors.definition import ConnectorDefinition
from headrace.connectors.registry import (
    definitions,
    find_definition,
    has_driver,
    require_driver,
)
from headrace.errors import HeadraceError

_EVENTS_TEXT = """headrace reads the existing rows (read), then follows the log (create,
update, delete) as Debezium events in a Spark stream. Updates show what
changed: before → after. Live changes run {until};
then the rows rebuilt from the events are compared with the database."""
_TABLES_TEXT = """headrace copies each of these tables into a table of {format}, then follows
the log, so that the copies stay equal to the shop's tables while these change.
Live changes run {until};
then all tables are compared with the database, row by row."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "--database",
        metavar="NAME",
        help="the connector: "
        + ", ".join(definition.name for definition in definitions())
        + " (default: the first of them whose driver is installed)",
    )
    parser.add_argument(
        "--uri",
        help="connection string of your own server, on which the demo creates a database and "
        "drops it (default: a server that the demo starts)",
    )
    parser.add_argument(
        "--seconds", type=positive_seconds, help="length of the live part (default: until Ctrl-C)"
    )
    parser.add_argument(
        "--tables",
        metavar="FORMAT",
        help="iceberg or delta: show the shop as tables of that format instead of events",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        help="with --tables: an empty folder for the tables, which are kept (default: a folder "
        "that the demo deletes)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the demo and check the result of its changes; return 1 if the result differs
    from the database."""
    definition = _definition_with_demo(arguments.database)
    demo = definition.demo
    assert demo is not None
    console = Console(highlight=False)
    server = demo.server if arguments.uri is None else "the server of --uri"
    until = f"for {arguments.seconds:g} seconds" if arguments.seconds else "until Ctrl-C"
    template = _EVENTS_TEXT if arguments.tables is None else _TABLES_TEXT
    console.print(
        Panel.fit(
            f"{_capitalized(server)} with a small shop: customers, products, orders.\n"
            + template.format(until=until, format=_capitalized(arguments.tables or "")),
            title="headrace demo",
        )
    )
    with _folder(arguments) as folder:
        starting = "Spark" if arguments.uri is not None else f"{server} and Spark"
        console.print(f"starting {starting} …", style="dim")
        with demo.open(arguments.uri) as database:
            if arguments.tables is None:
                from headrace.cli.demo.events import EventsDemo

                return EventsDemo(database, folder, console, arguments).run()
            from headrace.cli.demo.tables import TablesDemo

            return TablesDemo(database, folder, console, arguments).run()


@contextlib.contextmanager
def _folder(arguments: argparse.Namespace) -> Iterator[Path]:
    """Yield the folder of the demo's files. Raises HeadraceError("cli.demo_output")."""
    with tempfile.TemporaryDirectory(prefix="headrace-demo-") as temporary:
        if arguments.output is None:
            yield Path(temporary)
            return
        if arguments.tables is None:
            raise HeadraceError(
                "cli.demo_output",
                "--output is only for tables, but the demo shows events",
                "Add --tables iceberg or --tables delta, or leave --output out.",
            )
        folder = Path(arguments.output).expanduser().absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            is_used = any(folder.iterdir())
        except OSError as error:
            raise HeadraceError(
                "cli.demo_output",
                f"The folder {folder} cannot be used ({error.strerror})",
                "Name another folder.",
            ) from error
        if is_used:
            raise HeadraceError(
                "cli.demo_output",
                f"The folder {folder} is not empty",
                "Name an empty folder, or one that does not exist yet.",
            )
        yield folder


def _definition_with_demo(connector: str | None) -> ConnectorDefinition:
    """Return the named definition, or the first with a demo; its driver is installed.

    Raises HeadraceError("connectors.no_demo"), ("connectors.no_driver"), ("connectors.unknown").
    """
    if connector is not None:
        definition = find_definition(connector)
        require_driver(definition)
        candidates = [definition]
    else:
        candidates = [candidate for candidate in definitions() if has_driver(candidate)]
        if not candidates:
            require_driver(definitions()[0])
    for definition in candidates:
        if definition.demo is not None:
            return definition
    raise HeadraceError(
        "connectors.no_demo",
        f"The connector {connector} has no demo" if connector else "No connector has a demo",
        "Name another connector.",
    )


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
