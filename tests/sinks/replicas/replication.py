"""A pipeline from a database into a lake by `headrace.replicate`, run by run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headrace
from headrace.errors import HeadraceError
from tests.servers.postgresql import Database
from tests.sinks.lake.readers import ReadLake

_WITHIN_S = 300
_SINK = "headrace.sink."


class Replication:
    """Runs of one query, each of which goes on where the last one ended."""

    def __init__(
        self, spark: SparkSession, database: Database, lake: ReadLake, state: Path
    ) -> None:
        self.spark, self.database, self.lake, self.state = spark, database, lake, state
        self._source: dict[str, str] = {}

    def copy(self, name: str) -> Replication:
        """A replication of the same database into the same lake, with a checkpoint and a slot of
        its own."""
        replication_copy = Replication(
            self.spark, self.database, self.lake, self.state.with_name(name)
        )
        replication_copy._source = {"slot.name": f"{self.database.name}_{name}"}
        return replication_copy

    def start(
        self, source: Mapping[str, str] | None = None, *, trigger: str, **options: str
    ) -> StreamingQuery:
        """The query, which runs; `options` are of the sink, with `_` for `.`, and `source` more
        properties of the connector. Raises HeadraceError for an error before the query."""
        sink = {
            **{name.removeprefix(_SINK): text for name, text in self.lake.properties().items()},
            "checkpoint": str(self.state),
            "trigger": trigger,
            **{name.replace("_", "."): text for name, text in options.items()},
        }
        del sink["mode"]
        properties = {**self.database.properties(), "skipped.operations": "none", **self._source}
        return headrace.replicate(self.spark, properties | dict(source or {}), sink)

    def run(self, source: Mapping[str, str] | None = None, **options: str) -> None:
        """Runs until everything is replicated that is in the source now; see `start`. Raises
        HeadraceError for an error before the query, and the error that the query ended with."""
        query = self.start(source, trigger="availableNow", **options)
        try:
            assert query.awaitTermination(_WITHIN_S)
        except StreamingQueryException:
            error = headrace.error(query)
            raise error if error is not None else AssertionError from None
        finally:
            query.stop()

    def error(self, **options: str) -> HeadraceError:
        """The error with which a run ends."""
        try:
            self.run(**options)
        except HeadraceError as error:
            return error
        raise AssertionError("the query ended without an error")

    def rows(self, table: str, *columns: str) -> list[tuple[object, ...]]:
        """Columns of a replica, in their order."""
        rows = self.lake.rows("public", table)
        return sorted(tuple(row[column] for column in columns) for row in rows)

    def assert_equal(self, table: str, *columns: str) -> None:
        """A replica has the rows of its source."""
        names = ", ".join(columns)
        source_rows = self.database.execute(f"SELECT {names} FROM {table} ORDER BY {names}")
        replica_rows = self.rows(table, *columns)
        assert replica_rows == source_rows, f"{replica_rows[:20]} instead of {source_rows[:20]}"

    @property
    def stopped(self) -> list[str]:
        """The tables that are stopped."""
        folder = self.state / self.lake.name / "stopped"
        return sorted(path.parent.name for path in folder.glob("*/error.json"))
