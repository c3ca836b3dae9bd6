"""`headrace.status` of a query whose tasks, in processes of their own, wait for a table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

import headrace
from headrace.spark.query.status import Status
from tests.servers.postgresql import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

SECONDS = 120


def await_status(query: StreamingQuery, condition: Callable[[Status], bool]) -> Status:
    """The first status for which `condition` holds, or the last one."""
    latest = time.monotonic() + SECONDS
    while True:
        status = headrace.status(query)
        if condition(status) or time.monotonic() > latest or not query.isActive:
            return status
        time.sleep(0.05)


@pytest.mark.spark
@pytest.mark.postgres
def test_the_status_says_which_lock_a_task_waits_for(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, n int, note text);"
        "ALTER TABLE t ALTER note SET STORAGE EXTERNAL;"
        "INSERT INTO t VALUES (1, 1, repeat('kept out of line', 1000))"
    )
    processor = "io.debezium.processors.reselect.ReselectColumnsPostProcessor"
    properties = database.properties(snapshot_mode="no_data") | {
        "post.processors": "again",
        "again.type": processor,
        "headrace.checkpoint.dir": str(tmp_path / "state"),
    }
    reader = spark.readStream.format("headrace").options(**headrace.options(properties)).load()
    writer = reader.writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path / "state")).start()
    assert await_status(query, lambda s: s.state == "streaming").state == "streaming"

    dsn = database.dsn
    with psycopg.connect(dsn) as writes, psycopg.connect(dsn, application_name="billing") as locks:
        writes.execute("UPDATE t SET n = n + 1")
        # It waits for the row's transaction, and has the table when the change can be read.
        lock = "LOCK TABLE t IN ACCESS EXCLUSIVE MODE"
        waiting = threading.Thread(target=lambda: locks.execute(lock))
        waiting.start()
        asks = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
        while writes.execute(asks, (locks.info.backend_pid,)).fetchone() == (0,):
            time.sleep(0.01)
        writes.commit()
        waiting.join()
        holder = f"(held by {locks.info.backend_pid}, application billing)"
        waits = f"waiting for a lock on public.t {holder}"
        status = await_status(query, lambda s: s.waits is not None)
        assert (status.state, status.waits, status.error) == ("streaming", waits, None)
        assert status.message.startswith(waits)
        locks.rollback()
    status = await_status(query, lambda s: s.waits is None)
    assert (status.state, status.waits, status.error) == ("streaming", None, None)
    query.processAllAvailable()
    assert sum(progress["numInputRows"] for progress in query.recentProgress) == 1
    query.stop()
