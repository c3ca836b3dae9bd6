"""The catalogue's additions to the log: how often it is read, by whom, and as of which moment."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from headrace.connectors.postgresql.checks.database import check
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.registry import parse_configuration
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

NO_ROWS = {"snapshot.mode": "no_data"}


@contextmanager
def queries(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements of every connection, in order; what looks after locks asks by the clock."""
    statements: list[str] = []
    execute = psycopg.Cursor.execute

    def counted(cursor: Any, query: Any, *values: Any, **more: Any) -> Any:
        if threading.current_thread().name != "headrace-locks":
            statements.append(query.as_string(None) if hasattr(query, "as_string") else str(query))
        return execute(cursor, query, *values, **more)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", counted)
        yield statements


def make_tables(database: Database, numbers: range) -> None:
    database.execute(
        "".join(f"CREATE TABLE t{n} (id int PRIMARY KEY, v text DEFAULT 'x');" for n in numbers)
    )


def insert_everywhere(database: Database, numbers: range) -> None:
    database.execute("".join(f"INSERT INTO t{n} VALUES (1);" for n in numbers))


def keys(records: list[dict[str, Any]]) -> list[tuple[str | None, str | None, str]]:
    ordered = sorted(records, key=lambda record: record["sequence"])
    return [(r["key"], r["value"] and json.loads(r["value"])["op"], r["sequence"]) for r in ordered]


def sessions(database: Database) -> list[str]:
    rows = database.execute(
        "SELECT application_name FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name LIKE 'headrace%'"
    )
    return [str(row[0]) for row in rows]


# -- how often ------------------------------------------------------------------------------------


def asked_by_start_and_stream(
    database: Database, tables: range, monkeypatch: pytest.MonkeyPatch
) -> int:
    make_tables(database, tables)
    reader = Reader(database.properties() | NO_ROWS)
    with queries(monkeypatch) as statements:
        reader.step()
        insert_everywhere(database, tables)
        reader.step_until(lambda: len(reader.records) >= len(tables))
        reader.stop()
    return len(statements)


def test_a_start_asks_the_catalogue_as_often_for_many_tables_as_for_few(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = asked_by_start_and_stream(database, range(3), monkeypatch)
    database.drop_slot()
    many = asked_by_start_and_stream(database, range(3, 43), monkeypatch)
    # On a loaded machine the 40 tables come in several pieces, each of which is described.
    assert many < few + 20
    assert few < 80


def test_a_transaction_over_new_tables_is_described_in_few_queries(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tables(database, range(1))
    reader = Reader(database.properties() | NO_ROWS)
    reader.step()
    insert_everywhere(database, range(1))
    reader.step_until(lambda: reader.records)
    with queries(monkeypatch) as statements:
        database.execute("CREATE SCHEMA s")
        make_tables(database, range(1, 101))
        database.execute(
            "BEGIN; " + "".join(f"INSERT INTO t{n} VALUES (2);" for n in range(1, 101)) + "COMMIT"
        )
        count = len(statements)
        reader.step_until(lambda: len(reader.records) >= 101)
        described = [q for q in statements[count:] if "pg_attribute" in q]
    reader.stop()
    # One for each piece of the log that came at a time, however few tables were in it.
    assert len(described) <= 40


def test_a_check_asks_as_often_for_many_tables_as_for_few(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = parse_configuration(database.properties())
    make_tables(database, range(2))
    with queries(monkeypatch) as few:
        check(config)
    make_tables(database, range(2, 32))
    with queries(monkeypatch) as many:
        check(config)
    assert len(many) == len(few)


def test_the_list_of_a_snapshot_is_asked_for_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for tables in (range(2), range(2, 32)):
        make_tables(database, tables)
        insert_everywhere(database, tables)
        reader = Reader(database.properties())
        with queries(monkeypatch) as statements:
            reader.step()
        reader.stop()
        database.drop_slot()
        database.execute(f"DROP PUBLICATION {database.name}")
        counts.append(len(statements))
    assert counts[0] == counts[1]


# -- the thread that owns the socket --------------------------------------------------------------


def reply_time(database: Database) -> Any:
    rows = database.execute("SELECT reply_time FROM pg_stat_replication")
    return rows[0][0] if rows else None


def waits_for_the_catalogue(database: Database) -> bool:
    return bool(
        database.execute(
            "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'headrace catalogue%'"
            " AND wait_event_type = 'Lock' AND datname = current_database()"
        )
    )


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_the_server_is_answered_while_the_catalogue_is_locked(database: Database) -> None:
    make_tables(database, range(1))
    reader = Reader(database.properties(status_update_interval_ms="100") | NO_ROWS)
    reader.step()
    insert_everywhere(database, range(1))
    reader.step_until(lambda: reader.records)
    make_tables(database, range(1, 2))
    blocker = database.connect()
    blocker.execute("BEGIN; LOCK TABLE pg_catalog.pg_description IN ACCESS EXCLUSIVE MODE")
    insert_everywhere(database, range(1, 2))
    thread = in_thread(lambda: reader.step(60))
    try:
        wait_for(lambda: waits_for_the_catalogue(database))
        for _ in range(3):
            before = reply_time(database)
            wait_for(lambda before=before: reply_time(database) > before)
        assert waits_for_the_catalogue(database)
    finally:
        blocker.close()
    thread.join(60)
    reader.step_until(lambda: len(reader.records) >= 2)
    reader.stop()
    assert [key for key, *_ in keys(reader.records)] == ['{"id":1}', '{"id":1}']


def test_closing_does_not_wait_for_a_locked_catalogue(database: Database) -> None:
    make_tables(database, range(1))
    reader = Reader(database.properties() | NO_ROWS)
    reader.step()
    insert_everywhere(database, range(1))
    reader.step_until(lambda: reader.records)
    make_tables(database, range(1, 2))
    blocker = database.connect()
    blocker.execute("BEGIN; LOCK TABLE pg_catalog.pg_description IN ACCESS EXCLUSIVE MODE")
    insert_everywhere(database, range(1, 2))
    try:
        reader.open().poll(reader.offsets[-1], timedelta(milliseconds=10))
        wait_for(lambda: waits_for_the_catalogue(database))
        stopped = in_thread(reader.stop)
        wait_for(lambda: not stopped.is_alive())
        wait_for(lambda: not sessions(database))
    finally:
        blocker.close()


def test_no_session_is_left_when_the_connector_closes(database: Database) -> None:
    make_tables(database, range(2))
    gc.disable()
    try:
        reader = Reader(database.properties() | NO_ROWS)
        reader.step()
        make_tables(database, range(2, 3))
        insert_everywhere(database, range(3))
        reader.step_until(lambda: len(reader.records) >= 3)
        stream = vars(reader.open())["_stream"]  # as something in a cycle would
        reader.stop()
        wait_for(lambda: not sessions(database))
        del stream
    finally:
        gc.enable()


# -- as of which moment ---------------------------------------------------------------------------


@pytest.mark.parametrize("afterwards", ["", "CREATE TABLE t (id int, b int, v text)"])
def test_events_of_a_dropped_table_keep_their_key(database: Database, afterwards: str) -> None:
    database.execute("CREATE TABLE stays (id int); CREATE TABLE t (id int PRIMARY KEY, v text)")
    reader = Reader(database.properties() | NO_ROWS)
    reader.step()
    database.execute("INSERT INTO t VALUES (1, 'a'); DELETE FROM t")
    end = reader.plan(10)
    first = reader.read(end)
    database.execute(f"DROP TABLE t; {afterwards}")
    reader.restart()
    again = reader.read(end)
    reader.stop()
    assert [(key, op) for key, op, _ in keys(first)] == [
        ('{"id":1}', "c"), ('{"id":1}', "d"), ('{"id":1}', None),
    ]  # fmt: skip
    assert keys(again) == keys(first)


def test_a_table_made_again_lends_its_dropped_namesake_the_order_of_the_key(
    database: Database,
) -> None:
    make = "CREATE TABLE t (a int, b int, v text, PRIMARY KEY (b, a)); "
    database.execute(f"CREATE TABLE stays (id int); {make}")
    reader = Reader(database.properties() | NO_ROWS)
    reader.step()
    database.execute(f"INSERT INTO t VALUES (1, 2, 'a'); DROP TABLE t; {make}")
    reader.drain()
    reader.stop()
    assert [key for key, *_ in keys(reader.records)] == ['{"b":2,"a":1}']


def test_the_key_is_that_of_the_log_when_another_one_was_chosen_since(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL)")
    reader = Reader(database.properties() | NO_ROWS)
    reader.step()
    database.execute("INSERT INTO t VALUES (1, 7)")
    database.execute("ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (v)")
    database.execute("INSERT INTO t VALUES (2, 8)")
    reader.drain()
    reader.stop()
    assert [key for key, *_ in keys(reader.records)] == ['{"id":1}', '{"v":8}']


def test_a_key_column_that_was_renamed_since_keeps_its_name_in_the_log(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    reader = Reader(database.properties() | NO_ROWS)
    reader.step()
    database.execute("INSERT INTO t VALUES (1, 7)")
    database.execute("ALTER TABLE t RENAME id TO number")
    reader.drain()
    reader.stop()
    assert [key for key, *_ in keys(reader.records)] == ['{"id":1}']


def test_what_the_log_does_not_have_is_asked_for_again_after_a_change(database: Database) -> None:
    """A default and NOT NULL are no part of the log; here they change after the start."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
    reader = Reader(database.properties() | NO_ROWS | {"value.converter.schemas.enable": "true"})
    reader.step()
    changes = ("", "ALTER TABLE t ALTER v SET DEFAULT 7", "ALTER TABLE t ALTER v SET NOT NULL")
    for number, change in enumerate(changes):
        if change:
            database.execute(change)
        database.execute(f"INSERT INTO t VALUES ({number}, 1)")
        reader.step_until(lambda number=number: len(reader.records) > number)
    reader.stop()
    ordered = sorted(reader.records, key=lambda record: record["sequence"])
    fields = []
    for record in ordered:
        (after,) = [
            f for f in json.loads(record["value"])["schema"]["fields"] if f["field"] == "after"
        ]
        column = after["fields"][1]
        fields.append((column["optional"], column.get("default")))
    assert fields == [(True, None), (True, 7), (False, 7)]


def test_a_limit_on_catalogue_queries_ends_them(database: Database) -> None:
    from headrace.connectors.postgresql.catalog.catalog import Catalog
    from headrace.errors import HeadraceError

    make_tables(database, range(1))
    config = parse_configuration(database.properties(database_query_timeout_ms="300"))
    assert isinstance(config, PostgresConfig)
    (oid,) = database.execute("SELECT 't0'::regclass::oid")[0]
    catalog = Catalog(config)
    errors: list[HeadraceError] = []

    def describe() -> None:
        try:
            catalog.read([oid], sizes=True)
        except HeadraceError as error:
            errors.append(error)

    blocker = database.connect()
    blocker.execute("BEGIN; LOCK TABLE pg_catalog.pg_description IN ACCESS EXCLUSIVE MODE")
    try:
        thread = in_thread(describe)
        thread.join(30)
        assert not thread.is_alive()
    finally:
        blocker.close()
    catalog.close()
    assert [error.code for error in errors] == ["postgresql.query_timeout"]
    assert "database.query.timeout.ms" in errors[0].remedy
