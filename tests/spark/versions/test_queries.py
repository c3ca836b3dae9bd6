"""Queries of a user, whose checkpoint headrace.checkpoint.dir names: that is where ranges start
with Spark 4.0 and 4.1, and it changes nothing with a newer one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace
from headrace.spark.versions.installed import REPORTS_STARTS
from tests.servers.postgresql import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = [pytest.mark.spark, pytest.mark.postgres]
only_found = pytest.mark.skipif(REPORTS_STARTS, reason="this Spark says where ranges start")


class Query:
    """A stream of a table into Parquet files."""

    def __init__(self, spark: SparkSession, database: Database, folder: Path) -> None:
        self.spark, self.database, self.folder = spark, database, folder
        self.checkpoint = folder / "checkpoint"
        headrace.register(spark)
        database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")

    def start(
        self,
        trigger: dict[str, str | bool],
        *,
        named: Path | str | None = None,
        checkpoint: Path | None = None,
    ) -> StreamingQuery:
        query_properties = {
            "headrace.range.max.bytes": "32kB",
            "headrace.checkpoint.dir": str(named or self.checkpoint),
        }
        properties = self.database.properties() | query_properties
        frame = self.spark.readStream.format("headrace").options(**headrace.options(properties))
        writer = frame.load().writeStream.format("parquet").option("path", str(self.folder / "out"))
        writer = writer.option("checkpointLocation", str(checkpoint or self.checkpoint))
        return writer.trigger(**trigger).start()  # type: ignore[arg-type]

    def run(self) -> list[int]:
        """Runs the query with availableNow; returns the micro-batches that it finished."""
        query = self.start({"availableNow": True})
        assert query.awaitTermination(600), query.status
        return sorted(int(file.name) for file in (self.checkpoint / "commits").glob("[0-9]*"))

    def refused(self, **named: Path | str) -> str:
        """The code of the error that ends it."""
        query = self.start({"processingTime": "0 seconds"}, **named)  # type: ignore[arg-type]
        error = None
        try:
            query.awaitTermination(120)
        except Exception:  # noqa: BLE001 - the query has it
            error = headrace.error(query)
        query.stop()
        return "" if error is None else error.code

    def rows(self) -> list[str]:
        """The keys of what the files hold, in total order."""
        rows = self.spark.read.parquet(str(self.folder / "out")).orderBy("sequence").collect()
        return [row.sequence for row in rows]

    def acknowledged(self) -> str:
        """The position that was acknowledged to the database."""
        statement = "SELECT confirmed_flush_lsn::text FROM pg_replication_slots"
        ((place,),) = self.database.execute(statement)
        return str(place)


@pytest.fixture
def query(spark: SparkSession, database: Database, tmp_path: Path) -> Query:
    return Query(spark, database, tmp_path)


def filled(query: Query, first: int, last: int) -> None:
    """Transactions of a hundred rows."""
    for start in range(first, last, 100):
        query.database.execute(
            "INSERT INTO t SELECT i, repeat('x', 100) "
            f"FROM generate_series({start}, {start + 99}) i"
        )


def test_available_now_has_the_snapshot_and_then_each_backlog_and_ends(query: Query) -> None:
    filled(query, 1, 300)
    query.run()
    assert len(query.rows()) == 300
    before = query.acknowledged()
    filled(query, 301, 3000)
    finished = query.run()
    assert query.acknowledged() != before  # what a later run does not read again
    assert len(query.rows()) == len(set(query.rows())) == 3000
    if not REPORTS_STARTS:
        journals = sorted((query.checkpoint / "headrace").glob("*.jsonl"))
        lines = [len(path.read_text().splitlines()) for path in journals]
        assert max(lines) > 10  # ranges, in a single micro-batch
        assert len(finished) == 2
    before = query.acknowledged()
    filled(query, 3001, 3100)
    running = query.start({"processingTime": "0 seconds"})
    try:
        while len(query.rows()) < 3100 or query.acknowledged() == before:
            assert running.exception() is None
    finally:
        running.stop()
    assert len(query.rows()) == len(set(query.rows())) == 3100


@only_found
class TestFolders:
    """Another folder than the query's checkpoint ends it before anything is acknowledged."""

    @pytest.mark.parametrize(
        ("named", "code"),
        [
            ("checkpoint", "spark.checkpoint_not_local"),
            ("s3://bucket/checkpoint", "spark.checkpoint_not_local"),
            ("/nowhere/checkpoint", "spark.checkpoint_not_found"),
        ],
    )
    def test_a_name_that_is_not_a_checkpoints(self, query: Query, named: str, code: str) -> None:
        assert query.refused(named=named) == code
        assert query.database.execute("SELECT 1 FROM pg_replication_slots") == []

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            (lambda checkpoint, other: checkpoint, "spark.other_checkpoint"),
            (
                lambda checkpoint, other: shutil.copytree(checkpoint, other),
                "spark.other_checkpoint",
            ),
            (lambda checkpoint, other: other.mkdir(), "spark.checkpoint_not_found"),
        ],
        ids=["of another query", "copied", "empty"],
    )
    def test_another_folder(
        self, query: Query, tmp_path: Path, change: Callable[[Path, Path], object], code: str
    ) -> None:
        filled(query, 1, 200)
        query.run()
        filled(query, 201, 300)
        query.run()
        acknowledged = query.acknowledged()
        other = tmp_path / "other"
        change(query.checkpoint, other)
        filled(query, 301, 600)
        if other.exists():
            assert query.refused(named=other) == code
        else:  # a new checkpoint, and the old one is named
            assert query.refused(named=query.checkpoint, checkpoint=other) == code
        assert query.acknowledged() == acknowledged

    def test_a_checkpoint_that_is_deleted_while_the_query_runs(
        self, query: Query, tmp_path: Path
    ) -> None:
        filled(query, 1, 200)
        running = query.start({"processingTime": "0 seconds"})
        while not (query.checkpoint / "commits" / "3").exists():
            assert running.exception() is None
        query.checkpoint.rename(tmp_path / "away")
        with pytest.raises(Exception, match=r"checkpoint"):
            running.awaitTermination(120)
        error = headrace.error(running)
        assert error is not None
        assert error.code == "spark.checkpoint_not_found"
