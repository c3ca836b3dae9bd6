"""The shop as tables of a lake that follow it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.live import Live
from rich.text import Text

from headrace.cli.demo.demonstration import Demonstration, Row, row_differences
from headrace.cli.pipeline import Pipeline, Session, check_pipeline
from headrace.cli.sinks import PipelineStream, with_sink
from headrace.config.formats import read_mapping
from headrace.errors import HeadraceError
from headrace.spark.sinks.registry import sinks

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.sinks.replicas.definition import ReplicaDefinition
    from headrace.sinks.replicas.lake import Lake, LakeTable, TableName
    from headrace.sinks.replicas.sink import ReplicaSink
    from headrace.spark.supervisor import Summary

_TRIGGER = "1 second"
_REFRESHES = 4
_LINES_EVERY_S = 5.0


class TablesDemo(Demonstration):
    """Writes replicas, and compares them with the shop's tables."""

    catch_up_s = 120.0

    def _configured(self) -> Pipeline:
        self._definition = _definition(self._arguments.tables)
        self._sink: ReplicaSink | None = None
        self._lake: Lake | None = None
        self._rows = 0
        name = self._definition.name
        of_sink = {"type": name, "mode": "replica", **self._definition.format().local(self._tables)}
        properties = {
            **self._database.properties,
            **{f"headrace.sink.{option}": text for option, text in of_sink.items()},
            "headrace.trigger": _TRIGGER,
        }
        pipeline = check_pipeline(read_mapping(properties), {}, self._messages)
        return with_sink(pipeline, self._definition)

    @property
    def _tables(self) -> Path:
        return self._folder / "lake"

    def _kernels(self) -> Mapping[str, Sequence[str]]:
        return self._definition.kernels

    def _settings(self) -> Mapping[str, str]:
        from headrace.spark.jvm.jars import JARS, find_jars

        jars = find_jars(self._definition.packages(self._pipeline.config), None)
        return {JARS: ",".join(map(str, jars))}

    @contextlib.contextmanager
    def _opened(
        self, session: Session
    ) -> Iterator[tuple[Callable[[], StreamingQuery], Callable[[Any], None]]]:
        from headrace.spark.sinks.definition import SinkQuery

        definition, pipeline = self._definition, self._pipeline
        state = self._folder / "state"
        checkpoint = state / "checkpoint"
        query = SinkQuery(pipeline.config, state / definition.name, checkpoint)
        sink = self._sink = cast("ReplicaSink", definition.make(query))
        stream = PipelineStream(session.spark, pipeline, checkpoint)
        with contextlib.ExitStack() as opened:
            opened.callback(sink.close)
            sink.open()
            lake = definition.format().open(session.spark, definition.own_options(pipeline.config))
            self._lake = lake
            opened.callback(lake.close)

            def start() -> StreamingQuery:
                return pipeline.start(sink.writer(stream), checkpoint)

            opened.enter_context(show_progress(self._console, self._lines))
            yield start, lambda _: None

    def _lines(self) -> Sequence[str]:
        """Return rows and commits of each table so far."""
        figures = {} if self._sink is None else self._sink.figures()
        lines = [
            f"{name}: {of_table['written']:,} written, {of_table['deleted']:,} deleted, "
            f"{of_table['commits']:,} commits"
            for name, of_table in sorted(figures.items())
        ]
        return lines or ["waiting for the first rows …"]

    def _has_begun(self) -> bool:
        figures = {} if self._sink is None else self._sink.figures()
        return any(of_table["commits"] for of_table in figures.values())

    def _compare(self) -> list[str]:
        counts, differences = self._found(), []
        self._rows = 0
        for name in self._database.tables:
            table = counts.get(name)
            rows = {} if table is None else self._shown(table)
            self._rows += len(rows)
            stored = self._database.rows(name)
            differences += row_differences(name, rows, stored, "table", self._same_value)
        return differences

    def _found(self) -> dict[str, LakeTable]:
        """Return the tables by their names, which are those of the source."""
        from headrace.sinks.replicas.maintaining import noted_tables

        assert self._lake is not None
        counts = {}
        for name in noted_tables(self._folder / "state" / self._definition.name):
            table = self._lake.table(name)
            if table is not None:
                counts[name.name] = table
        return counts

    def _shown(self, table: LakeTable) -> dict[tuple[Any, ...], Row]:
        """Return the rows of a table by key, from its files and their deletion vectors."""
        from headrace.sinks.replicas.changes.declared_documents import DOCUMENT, ID
        from headrace.sinks.replicas.files.live_rows import live_rows
        from headrace.sinks.replicas.lake import ColumnChange

        transaction = table.begin(ColumnChange())
        storage, key = transaction.storage, table.schema().key
        rows = [row for file in transaction.files for row in live_rows(storage, file).to_pylist()]
        if table.schema().names == (ID, DOCUMENT):
            database = self._database
            return {database.key({"id": row[ID]}): database.row(row[DOCUMENT]) for row in rows}
        return {tuple(row[name] for name in key): row for row in rows}

    def _same_value(self, value: object, stored: object) -> bool:
        """Return whether a value of a table equals the one of the database: decimals in any form,
        times without a zone as UTC."""
        if isinstance(value, Decimal) and stored is not None:
            return value == Decimal(str(stored))
        if isinstance(value, datetime) and isinstance(stored, datetime):
            value, stored = (
                moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
                for moment in (value, stored)
            )
            return value == stored
        return self._database.same_value(value, stored)

    def _said(self, summary: Summary) -> Sequence[str]:
        figures = {} if self._sink is None else self._sink.figures()
        changes, commits = (
            sum(of_table[name] for of_table in figures.values()) for name in ("changes", "commits")
        )
        return (
            f"{changes:,} changes of {self._shop.transactions} live transactions in {commits:,} "
            f"commits of {len(figures)} tables in {summary.seconds:.0f} s",
            f"the {self._rows} rows of the tables equal the database's",
        )

    def _closing(self) -> Sequence[str]:
        if self._arguments.output is None:
            return ("the demo deletes the tables; --output DIR keeps them",)
        names = list(self._names())
        return (
            f"the tables are in {self._tables}; in Python:",
            *(f"    {line}" for line in self._definition.format().reading(self._tables, names[0])),
        )

    def _names(self) -> Iterator[TableName]:
        from headrace.sinks.replicas.maintaining import noted_tables

        yield from noted_tables(self._folder / "state" / self._definition.name)


@contextlib.contextmanager
def show_progress(
    console: Console, lines: Callable[[], Sequence[str]], every: float = _LINES_EVERY_S
) -> Iterator[None]:
    """Show lines that change: on a terminal in place, elsewhere the changed ones, `every` so many
    seconds and at the end. Another thread calls `lines`."""
    if console.is_terminal:
        with Live(
            console=console,
            get_renderable=lambda: Text("\n".join(lines())),
            refresh_per_second=_REFRESHES,
        ):
            yield
        return
    printed: set[str] = set()

    def show() -> None:
        for line in lines():
            if line not in printed:
                printed.add(line)
                console.print(line, markup=False, soft_wrap=True)

    over = threading.Event()

    def run() -> None:
        show()
        while not over.wait(every):
            show()

    thread = threading.Thread(target=run, name="headrace demo", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        show()


def _definition(table_format: str) -> ReplicaDefinition:
    """Return the definition of a table format's sink. Raises HeadraceError("cli.demo_format")."""
    from headrace.sinks.replicas.definition import ReplicaDefinition

    known = [sink for sink in sinks() if isinstance(sink, ReplicaDefinition)]
    for definition in known:
        if definition.name == table_format.lower():
            return definition
    raise HeadraceError(
        "cli.demo_format",
        f"The demo has no tables of the format {table_format}",
        f"Use --tables {' or --tables '.join(sink.name for sink in known)}.",
    )
