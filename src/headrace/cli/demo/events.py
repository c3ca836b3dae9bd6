"""The shop as change events."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace.cli.demo.demonstration import Demonstration, row_differences
from headrace.cli.pipeline import Pipeline, Session, check_pipeline
from headrace.config.formats import read_mapping
from headrace.connectors.definition import DemoDatabase

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.sinks.console.sink import Shown
    from headrace.spark.supervisor import Summary

_TAKE = 100_000


class EventsDemo(Demonstration):
    """Shows events, and rebuilds the tables from them."""

    def _configured(self) -> Pipeline:
        self._tables = RebuiltTables(self._database)
        return check_pipeline(read_mapping(self._database.properties), {}, self._messages)

    @contextlib.contextmanager
    def _opened(
        self, session: Session
    ) -> Iterator[tuple[Callable[[], StreamingQuery], Callable[[Any], None]]]:
        from headrace.sinks.console.sink import ConsoleSink

        with ConsoleSink(console=self._console, take=_TAKE, on_records=self._tables.add) as sink:

            def start() -> StreamingQuery:
                checkpoint = self._folder / "checkpoint"
                events = self._pipeline.stream(session.spark, checkpoint)
                return self._pipeline.start(events.writeStream.foreachBatch(sink.write), checkpoint)

            yield start, sink.progress

    def _has_begun(self) -> bool:
        return bool(self._tables.events)

    def _compare(self) -> list[str]:
        database = self._database
        differences = []
        for table in database.tables:
            differences += self._tables.differences(table, database.rows(table))
        return differences

    def _said(self, summary: Summary) -> Sequence[str]:
        from headrace.sinks.console.event_line import OPERATIONS

        counts = ", ".join(
            f"{count:,} {OPERATIONS[operation][0] if operation in OPERATIONS else operation}"
            for operation, count in sorted(self._tables.operations.items())
        )
        rows = sum(len(rows) for rows in self._tables.rows.values())
        return (
            f"{self._tables.events:,} events ({counts}) of {self._shop.transactions} live "
            f"transactions in {summary.seconds:.0f} s",
            f"the {rows} rows rebuilt from the events equal the database's",
        )


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
        """Return the differences between the folded table and the rows of the database."""
        rebuilt = dict(self.rows.get(table, {}))
        differences = [f"{self._left_out} events were not folded"] if self._left_out else []
        same = self._database.same_value
        return differences + row_differences(table, rebuilt, stored, "events", same)
