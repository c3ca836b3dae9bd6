from __future__ import annotations

import logging
import os
import signal
import time

import pytest

from headrace.connectors.postgresql.replication.slot_watch import SlotMetrics, read_slot
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE other (id int PRIMARY KEY);"
    "INSERT INTO t SELECT i FROM generate_series(1, 500) i; ANALYZE t"
)


properties = properties_with(
    {
        "table.include.list": "public\\.t",
        "publication.autocreate.mode": "all_tables",
        "headrace.slot.watch.interval": "100 ms",
    }
)


def test_metrics_describe_snapshot_stream_and_slot(tables: Database) -> None:
    reader = Reader(properties(tables))
    reader.drain()
    snapshot = reader.open().metrics()["snapshot"]
    assert snapshot["SnapshotCompleted"]
    assert snapshot["TotalTableCount"] == 1
    assert snapshot["RowsScanned"]["public.t"] == 500
    assert snapshot["CapturedTables"] == ["public.t"]
    begun = time.monotonic()
    tables.execute("INSERT INTO t VALUES (1001); INSERT INTO other VALUES (1)")
    tables.execute("UPDATE t SET v = 1 WHERE id < 4; DELETE FROM t WHERE id = 1")
    end = reader.plan()
    reader.read(end)
    waiting = reader.open().metrics()
    assert waiting["oldest_unacknowledged_ms"] is not None
    assert waiting["streaming"]["Connected"]
    reader.offsets.append(end)
    reader.drain()
    metrics = reader.open().metrics()
    elapsed_ms = 1000 * (time.monotonic() - begun)
    streaming = metrics["streaming"]
    assert streaming["TotalNumberOfEventsSeen"] == 5
    assert streaming["TotalNumberOfUpdateEventsSeen"] == 3
    assert streaming["NumberOfEventsFiltered"] == 1
    assert streaming["NumberOfCommittedTransactions"] == 2
    assert streaming["MilliSecondsBehindSourceMinValue"] >= 0
    assert (
        streaming["MilliSecondsBehindSourceMinValue"]
        <= streaming["MilliSecondsBehindSourceP50"]
        <= streaming["MilliSecondsBehindSourceP99"]
        <= streaming["MilliSecondsBehindSourceMaxValue"]
        <= elapsed_ms + 1
    )
    assert 0 < streaming["CurrentQueueSizeInBytes"] < streaming["MaxQueueSizeInBytes"]
    wait_for(lambda: reader.open().metrics()["oldest_unacknowledged_ms"] is None)
    wait_for(lambda: (reader.open().metrics()["database"] or {}).get("active"))
    slot = reader.open().metrics()["database"]
    assert slot["wal_status"] == "reserved"
    assert slot["lag_bytes"] >= 0
    assert slot["retained_bytes"] >= slot["lag_bytes"]
    reader.stop()
    names = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%watch%'"
    wait_for(lambda: tables.execute(names)[0][0] == 0)


def test_a_server_that_does_not_answer_is_silent_until_it_does(tables: Database) -> None:
    reader = Reader(properties(tables) | {"status.update.interval.ms": "200"})
    reader.drain()

    def silent_ms() -> int:
        return int(reader.open().metrics()["silent_ms"])

    ((walsender,),) = tables.execute("SELECT pid FROM pg_stat_replication")
    os.kill(walsender, signal.SIGSTOP)
    try:
        tables.execute("INSERT INTO t VALUES (1001)")
        wait_for(lambda: silent_ms() > 3000)
        assert reader.open().metrics()["streaming"]["Connected"]
    finally:
        os.kill(walsender, signal.SIGCONT)
    wait_for(lambda: silent_ms() < 3000)
    reader.drain()
    assert reader.events()[-1]["after"]["id"] == 1001


def test_a_stream_without_snapshot_says_so(tables: Database) -> None:
    reader = Reader(
        properties(tables, snapshot__mode="no_data", headrace__slot__watch__interval="0")
    )
    reader.step()
    reader.step()
    metrics = reader.open().metrics()
    reader.stop()
    assert metrics["snapshot"]["SnapshotSkipped"]
    assert metrics["database"] is None


def test_a_slot_in_danger_is_warned_of_once(
    tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    reader = Reader(properties(tables, snapshot__mode="no_data"))
    reader.step()
    slot = reader.config.slot_name  # type: ignore[attr-defined]
    with tables.connect() as connection:
        before = read_slot(connection, slot)
    assert before is not None
    assert before.danger is None
    tables.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '64MB'")
    tables.execute("SELECT pg_reload_conf()")
    try:
        with caplog.at_level(logging.WARNING):
            reader.step()  # the watch begins
            for _ in range(4):
                tables.execute("SELECT pg_switch_wal()")
                tables.execute("INSERT INTO other SELECT coalesce(max(id), 0) + 1 FROM other")
            wait_for(lambda: "may be lost soon" in caplog.text)
            reader.step(0.5)  # the watch looks again
        assert caplog.text.count("may be lost soon") == 1
    finally:
        tables.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        tables.execute("SELECT pg_reload_conf()")
        reader.stop()


def test_danger_is_little_room_or_a_bad_status() -> None:
    def slot(status: str | None, safe: int | None, keep: int | None) -> SlotMetrics:
        return SlotMetrics(True, 1, 1, status, safe, None, None, keep)

    assert slot("reserved", None, -1).danger is None
    assert slot("extended", 900, 1000).danger is None
    assert slot(None, None, None).danger is None
    assert "unreserved" in (slot("unreserved", -5, 1000).danger or "")
    assert "200 bytes" in (slot("extended", 200, 1000).danger or "")
