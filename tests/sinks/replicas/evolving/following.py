"""A query that follows a database in the session of the tests, while its tables change."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headrace
from headrace.cli import main
from headrace.errors import HeadraceError
from tests.sinks.lake.readers import ReadLake, Row

LATEST_S = 120
_SINK = "headrace.sink."


class EvolvingSource(ABC):
    """A database with a table of marks, by which it is known what has arrived."""

    namespace: str
    """Namespace of the tables in a lake."""
    marks: str
    """The name of the table of marks."""

    @abstractmethod
    def properties(self) -> Mapping[str, str]:
        """The connector's."""

    @abstractmethod
    def mark(self, number: int) -> None:
        """Insert a row into the table of marks."""

    @abstractmethod
    def marked(self, row: Row) -> int:
        """The number of a mark, of its row in a lake."""

    @abstractmethod
    def full_name(self, table: str) -> str:
        """A table as `headrace resync` takes it."""

    @abstractmethod
    def rows(self, table: str) -> list[Row]:
        """The rows of a table as they are now, as `shown` gives those of a replica."""

    def shown(self, row: Row) -> Row:
        """A row of a replica, without what readers of it do not have."""
        return row


class Following:
    """The replicas of a source: a query that runs between `start` and `stop`, and what a reader
    finds that is not headrace's."""

    def __init__(
        self,
        spark: SparkSession,
        source: EvolvingSource,
        lake: ReadLake,
        folder: Path,
        **more: str,
    ) -> None:
        """`more` are properties, with `_` for `.`."""
        self.source, self.lake, self.state = source, lake, folder / "state"
        self._spark, self._folder = spark, folder
        self._query: StreamingQuery | None = None
        self._marks = itertools.count(1)
        signals = {
            "signal.enabled.channels": "file",
            "signal.file": str(folder / "signals"),
            "signal.poll.interval.ms": "50",
            "read.only": "true",
        }
        overrides = {name.replace("_", "."): text for name, text in more.items()}
        self.properties = {**signals, **source.properties(), **overrides}

    # -- the query -------------------------------------------------------------------------------

    def start(self, **more: str) -> None:
        """Runs the query until `stop`; `more` are properties of this run, with `_` for `.`."""
        overrides = {name.replace("_", "."): text for name, text in more.items()}
        lake = {
            name.removeprefix(_SINK): text
            for name, text in self.lake.properties().items()
            if not name.endswith(".mode")
        }
        sink = {**lake, "checkpoint": str(self.state), "trigger": "100 milliseconds"}
        self._query = headrace.replicate(self._spark, {**self.properties, **overrides}, sink)

    def stop(self) -> None:
        """The query ends."""
        if self._query is not None:
            self._query.stop()
            self._query = None

    def error(self) -> HeadraceError:
        """The error with which the query ends."""
        assert self._query is not None
        with contextlib.suppress(StreamingQueryException):
            assert self._query.awaitTermination(LATEST_S)
        error = headrace.error(self._query)
        assert error is not None
        return error

    def await_(self, condition: Callable[[], object], description: str) -> None:
        """Waits until `condition()` holds."""
        deadline = time.monotonic() + LATEST_S
        while not condition():
            assert self._query is not None
            if not self._query.isActive:
                error = headrace.error(self._query)
                raise AssertionError(f"{description}: the query ended") from error
            assert time.monotonic() < deadline, f"{description}: stopped are {self.stopped()}"
            time.sleep(0.1)

    def catch_up(self) -> None:
        """Waits until what was committed so far is in the lake, or its table has stopped."""
        for _ in range(2):  # tables are committed side by side: the second mark comes after all
            number = next(self._marks)
            self.source.mark(number)
            self.await_(lambda: self._has(number), f"mark {number} does not come")  # noqa: B023

    def _has(self, number: int) -> bool:
        rows = self.replica(self.source.marks) or ()
        return any(self.source.marked(row) == number for row in rows)

    def resync(self, *tables: str) -> None:
        """`headrace resync` of each, until all are copied and nothing is stopped."""
        file = self._folder / "replicas.properties"
        lines = {**self.properties, **self.lake.properties()}
        file.write_text("".join(f"{name}={text}\n" for name, text in lines.items()))
        for table in tables:
            name = self.source.full_name(table)
            assert main(["resync", str(file), name, "--checkpoint", str(self.state)]) == 0
        requests = self.state / self.lake.name / "resync"
        while list(requests.rglob("*.json")):
            self.catch_up()  # a copy is over with the micro-batch after it
        assert self.stopped() == {}

    # -- what became of tables -------------------------------------------------------------------

    def stopped(self) -> dict[str, str]:
        """The codes of errors, by the names of the tables that they stopped."""
        codes_by_table = {}
        for path in (self.state / self.lake.name / "stopped").glob("*/error.json"):
            with contextlib.suppress(FileNotFoundError):
                error = json.loads(path.read_text())
                codes_by_table[error["name"]] = error["code"]
        return codes_by_table

    def replica(self, table: str) -> list[Row] | None:
        """The rows of a replica; None: there is no such."""
        return self.lake.found(self.source.namespace, table)

    def assert_equal(self, *tables: str) -> None:
        """Replicas have the columns and the rows of their source."""
        for table in tables:
            replica = self.replica(table)
            assert replica is not None, f"there is no replica of {table}"
            replica_rows = _ordered([self.source.shown(row) for row in replica])
            source_rows = _ordered(self.source.rows(table))
            assert replica_rows == source_rows, (
                f"{table}: {replica_rows[:5]} instead of {source_rows[:5]}"
            )


def _ordered(rows: list[Row]) -> list[list[tuple[str, Any]]]:
    return sorted((sorted(row.items()) for row in rows), key=repr)


@contextlib.contextmanager
def following(
    spark: SparkSession, source: EvolvingSource, lake: ReadLake, folder: Path, **more: str
) -> Iterator[Following]:
    """See Following; the query runs already, and ends."""
    follower = Following(spark, source, lake, folder, **more)
    try:
        follower.start()
        yield follower
    finally:
        follower.stop()
