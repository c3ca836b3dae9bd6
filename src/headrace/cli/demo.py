"""Watch a small shop's database as change events: existing rows first, then live changes."""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.panel import Panel

from headrace.cli.messages import Messages
from headrace.cli.pipeline import (
    check_pipeline,
    open_session,
    positive_seconds,
)
from headrace.cli.stopping import STOP
from headrace.config.source import read_mapping
from headrace.connect.deadline import Deadline
from headrace.connectors.definition import ConnectorDefinition, DemoDatabase
from headrace.connectors.registry import (
    definitions,
    find_definition,
    has_driver,
    require_driver,
)
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.sinks.console.sink import Shown
    from headrace.spark.supervisor import Summary

_CATCH_UP_S = 60.0
_FIRST_EVENTS_S = 300.0
_TAKE = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the verb's arguments."""
    parser.add_argument(
        "--database",
        metavar="NAME",
        help="whose demo: "
        + ", ".join(one.name for one in definitions())
        + " (default: the first of them whose driver is installed)",
    )
    parser.add_argument(
        "--uri",
        help="connection string of a server of your own, on which the demo makes a database and "
        "drops it (default: a server that the demo starts)",
    )
    parser.add_argument(
        "--seconds", type=positive_seconds, help="length of the live part (default: until Ctrl-C)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Runs the demo and checks the tables rebuilt from its events; 1 when they differ."""
    definition = _demonstrated(arguments.database)
    demo = definition.demo
    assert demo is not None
    console = Console(highlight=False)
    server = demo.server if arguments.uri is None else "the server of --uri"
    until = f"for {arguments.seconds:g} seconds" if arguments.seconds else "until Ctrl-C"
    console.print(
        Panel.fit(
            f"{_capitalized(server)} with a small shop: customers, products, orders.\n"
            "headrace reads what is there (read), then follows the log (create,\n"
            "update, delete) as Debezium events in a Spark stream. Updates show what\n"
            f"changed: before → after. Live changes run {until};\n"
            "then what the events rebuild is compared with the database.",
            title="headrace demo",
        )
    )
    starting = "Spark" if arguments.uri is not None else f"{server} and Spark"
    console.print(f"starting {starting} …", style="dim")
    with (
        demo.open(arguments.uri) as database,
        tempfile.TemporaryDirectory(prefix="headrace-demo-") as folder,
    ):
        return _Demo(database, Path(folder), console, arguments).run()


def _demonstrated(connector: str | None) -> ConnectorDefinition:
    """The definition that was asked for, or the first with a demo; its driver is installed.

    Raises HeadraceError("connectors.no_demo"), ("connectors.no_driver"), ("connectors.unknown").
    """
    if connector is not None:
        definition = find_definition(connector)
        require_driver(definition)
        candidates = [definition]
    else:
        candidates = [one for one in definitions() if has_driver(one)]
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


class _Demo:
    """One demonstration on a running server."""

    def __init__(
        self, database: DemoDatabase, folder: Path, console: Console, arguments: argparse.Namespace
    ) -> None:
        self._database = database
        self._folder = folder
        self._console = console
        self._arguments = arguments
        self._shop = database.workload
        self._tables = RebuiltTables(database)
        self._end = threading.Event()
        self._done = threading.Event()
        self._is_early = False
        self._differences: list[str] = ["the comparison did not take place"]
        self._messages = Messages()
        self._pipeline = check_pipeline(read_mapping(database.properties), {}, self._messages)

    def run(self) -> int:
        from headrace.sinks.console.sink import ConsoleSink
        from headrace.spark.supervisor import Supervisor

        session = open_session(
            "demo",
            self._messages,
            kernels=self._pipeline.kernels({}),
            master=None,
            idle_exit=None,
            debug=self._arguments.debug,
        )
        spark = session.spark
        try:
            self._messages.end()  # the sink has a live line of its own
            with ConsoleSink(
                console=self._console, take=_TAKE, on_records=self._tables.add
            ) as sink:

                def start() -> StreamingQuery:
                    writer = self._pipeline.stream(spark).writeStream.foreachBatch(sink.write)
                    return self._pipeline.start(writer, self._folder / "checkpoint")

                limits = self._pipeline.limits(idle_exit=None, seconds=None)
                supervisor = Supervisor(
                    spark,
                    start,
                    limits,
                    on_progress=sink.progress,
                    on_signal=self._end.set,
                    on_stop=session.jvm.mute,
                    on_repeat=session.jvm.terminate,
                )
                if STOP.requested:
                    self._end.set()
                director = threading.Thread(target=self._direct, args=(supervisor.stop,))
                director.start()
                try:
                    summary = supervisor.run()
                finally:
                    self._end.set()
                    self._done.set()
                    director.join()
        finally:
            session.close()
        return self._report(summary)

    def _direct(self, stop: Any) -> None:
        """Snapshot, live part, comparison; then the query may stop. Ctrl-C before the first event
        leaves nothing to compare."""
        try:
            deadline = Deadline(_FIRST_EVENTS_S)
            while not self._tables.events and not deadline.is_over:
                if self._end.wait(0.1):
                    self._is_early = True
                    return
            self._shop.start()
            self._end.wait(self._arguments.seconds)
            self._shop.stop()
            deadline = Deadline(_CATCH_UP_S)
            while True:
                self._differences = self._compare()
                if not self._differences or deadline.is_over or self._done.wait(0.3):
                    break
        finally:
            self._shop.stop()
            stop()

    def _compare(self) -> list[str]:
        database = self._database
        differences = []
        for table in database.tables:
            differences += self._tables.differences(table, database.rows(table))
        return differences

    def _report(self, summary: Summary) -> int:
        from headrace.sinks.console.event_line import OPERATIONS

        self._console.print()
        if self._is_early:
            self._console.print("stopped before the first event")
            return STOP.status
        counts = ", ".join(
            f"{count:,} {OPERATIONS[operation][0] if operation in OPERATIONS else operation}"
            for operation, count in sorted(self._tables.operations.items())
        )
        self._console.print(
            f"{self._tables.events:,} events ({counts}) of {self._shop.transactions} live "
            f"transactions in {summary.seconds:.0f} s"
        )
        if self._shop.failure is not None:
            self._differences.append(f"the workload failed: {self._shop.failure}")
        if self._differences:
            for difference in self._differences[:20]:
                self._console.print(f"  {difference}", style="red", markup=False)
            self._console.print("self-check failed", style="bold red")
            return 1
        rows = sum(len(rows) for rows in self._tables.rows.values())
        self._console.print(f"the {rows} rows rebuilt from the events equal the database's")
        self._console.print("self-check passed", style="bold green")
        self._console.print("your own database: headrace check FILE, with Debezium's properties")
        return 0


class RebuiltTables:
    """Tables folded from events by key; a topic's last part is the table's name."""

    def __init__(self, database: DemoDatabase) -> None:
        self._database = database
        self.rows: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {}
        self.operations: dict[str, int] = {}
        self.events = 0
        self._left_out = 0

    def add(self, records: Sequence[Shown], more: int) -> None:
        """Fold records in total order."""
        self._left_out += more
        for record in records:
            table = record.topic.rpartition(".")[2]
            rows = self.rows.setdefault(table, {})
            key = self._database.key(json.loads(record.key or "{}"))
            if record.value is None:
                rows.pop(key, None)
                self._count("tombstone")
                continue
            event = json.loads(record.value)
            self._count(str(event["op"]))
            if event["after"] is None:
                rows.pop(key, None)
            else:
                rows[key] = self._database.row(event["after"])

    def _count(self, operation: str) -> None:
        self.events += 1
        self.operations[operation] = self.operations.get(operation, 0) + 1

    def differences(
        self, table: str, stored: Mapping[tuple[Any, ...], Mapping[str, Any]]
    ) -> list[str]:
        """What differs between the folded table and the rows of the database."""
        rebuilt = dict(self.rows.get(table, {}))
        differences = [f"{self._left_out} events were not folded"] if self._left_out else []
        differences += [f"{table} {key}: not in the events" for key in stored if key not in rebuilt]
        differences += [
            f"{table} {key}: not in the database" for key in rebuilt if key not in stored
        ]
        for key in rebuilt.keys() & stored.keys():
            event, row = rebuilt[key], stored[key]
            for name in {**row, **event}:
                if name not in event or name not in row:
                    where = "database" if name in row else "events"
                    differences.append(f"{table} {key} {name}: only in the {where}")
                elif not self._database.same_value(event[name], row[name]):
                    differences.append(
                        f"{table} {key} {name}: {event[name]!r} in the events, {row[name]!r} stored"
                    )
        return differences
