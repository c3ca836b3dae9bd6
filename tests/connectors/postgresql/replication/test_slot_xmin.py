from __future__ import annotations

import json
import threading
from typing import Any

import psycopg
import pytest

from headrace.connectors.postgresql import connection
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.replication import slot_xmin
from headrace.connectors.postgresql.replication.slot_xmin import SlotXmin
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


TABLES = "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)"


def properties(database: Database, interval: str) -> dict[str, str]:
    return database.properties() | {
        "table.include.list": "public\\.t",
        "xmin.fetch.interval.ms": interval,
    }


def source(record: dict[str, Any]) -> dict[str, Any]:
    source_block: dict[str, Any] = json.loads(record["value"])["source"]
    return source_block


def catalog_xmin(database: Database) -> int:
    rows = database.execute(
        "SELECT catalog_xmin::text::bigint FROM pg_replication_slots WHERE slot_name = "
        f"'{database.properties()['slot.name']}'"
    )
    return int(rows[0][0])


def test_streamed_events_show_the_slots_xmin_and_rows_of_the_snapshot_none(
    tables: Database,
) -> None:
    reader = Reader(properties(tables, "1"))
    reader.drain()
    tables.execute("INSERT INTO t VALUES (2)")
    before = catalog_xmin(tables)
    reader.drain()
    reader.stop()
    after = catalog_xmin(tables)
    snapshot, streamed = (source(record) for record in reader.records)
    assert snapshot["xmin"] is None
    assert before <= streamed["xmin"] <= min(after, streamed["txId"])


def test_a_range_that_is_planned_again_shows_the_same_xmin(tables: Database) -> None:
    reader = Reader(properties(tables, "1"))
    reader.drain()
    tables.execute("INSERT INTO t VALUES (2)")
    while len(reader.records) < 2:
        reader.step()
    start, end = reader.offsets[-2:]
    first = reader.records[-1]
    # The offset is what a process that knows nothing else has: another xmin means a server
    # that has moved on.
    assert end["xmin"] == source(first)["xmin"]
    reader.stop()
    for xmin in (end["xmin"], 77):
        again = Reader(properties(tables, "1"), offsets=[start])
        records = again.read(end | {"xmin": xmin})
        assert [source(record) for record in records] == [source(first) | {"xmin": xmin}]
        again.stop()


@pytest.mark.parametrize(("interval", "once"), [("3600000", True), ("1", False)])
def test_the_xmin_is_read_once_in_an_interval(
    tables: Database, monkeypatch: pytest.MonkeyPatch, interval: str, once: bool
) -> None:
    """An interval of a millisecond is over with every range."""
    queries = []
    execute = psycopg.Cursor.execute

    def counted(cursor: Any, query: Any, *values: Any, **more: Any) -> Any:
        queries.extend([query] if query == slot_xmin._QUERY else [])
        return execute(cursor, query, *values, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", counted)
    reader = Reader(properties(tables, interval))
    reader.drain()
    for number in range(2, 5):
        tables.execute(f"INSERT INTO t VALUES ({number})")
        reader.drain()
    reader.stop()
    assert len(queries) == 1 if once else len(queries) >= 3
    xmins = [source(record)["xmin"] for record in reader.records[1:]]
    assert len(xmins) == 3
    assert None not in xmins
    if once:
        assert len(set(xmins)) == 1


def test_without_interval_there_is_no_xmin(tables: Database) -> None:
    reader = Reader(properties(tables, "0"))
    reader.drain()
    tables.execute("INSERT INTO t VALUES (2)")
    reader.drain()
    reader.stop()
    assert [source(record)["xmin"] for record in reader.records] == [None, None]
    assert all("xmin" not in offset for offset in reader.offsets)


def slot_xmin_of(slot_properties: dict[str, str]) -> SlotXmin:
    config = parse_configuration(slot_properties)
    assert isinstance(config, PostgresConfig)
    return SlotXmin(config)


def _no_memory(_address: int) -> memoryview:
    raise AssertionError("the xmin is not in the log")


START = PostgresOffset("s", PostgresPosition(lsn=1, xmin=7))
END = PostgresOffset("s", PostgresPosition(lsn=2))


def test_a_server_that_refuses_is_not_asked_again_at_every_range(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def refuse(*_: object, **__: object) -> psycopg.Connection:
        attempts.append(1)
        raise HeadraceError("postgresql.unreachable", "it is gone", "wait")

    monkeypatch.setattr(connection, "connect", refuse)
    xmin = slot_xmin_of(properties(database, "1"))
    assert [xmin.shown(START, END, _no_memory).position.xmin for _ in range(5)] == [7] * 5
    assert len(attempts) == 1


def test_a_query_of_the_xmin_that_waits_is_ended(database: Database) -> None:
    slot_properties = properties(database, "1") | {"database.query.timeout.ms": "300"}
    xmin = slot_xmin_of(slot_properties)
    assert xmin.shown(START, END, _no_memory).position.xmin is None  # there is no slot
    with database.connect() as blocker:
        blocker.execute("BEGIN; LOCK pg_catalog.pg_database IN ACCESS EXCLUSIVE MODE")
        # A query without a limit waits until then, and finds no slot.
        release = threading.Timer(20, blocker.execute, [b"ROLLBACK"])
        release.start()
        assert xmin.shown(START, END, _no_memory).position.xmin == 7
        release.cancel()
        release.join()
    xmin.close()
