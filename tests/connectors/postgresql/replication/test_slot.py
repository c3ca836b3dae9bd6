"""Slot, publication and keeper against a real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.reading.keeper import Keeper, renew
from headrace.connectors.postgresql.replication.publication import ensure_publication
from headrace.connectors.postgresql.replication.slot import (
    check_slot,
    create_slot,
    drop_slot,
    find_slot,
    wait_until_free,
)
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

Configure = Callable[..., PostgresConfig]


@pytest.fixture
def configure(database: Database) -> Configure:
    def configured(**more: str) -> PostgresConfig:
        changes = {name.replace("__", "."): value for name, value in more.items()}
        config = parse_configuration(database.properties() | changes)
        assert isinstance(config, PostgresConfig)
        return config

    return configured


@pytest.fixture
def replication(configure: Configure) -> Iterator[psycopg.Connection]:
    with connect(configure(), replication=True) as connection:
        yield connection


@pytest.mark.parametrize("postgres", [16, 18], indirect=True)
def test_a_new_slots_snapshot_outlives_its_connection_in_a_keeper(
    database: Database, configure: Configure, replication: psycopg.Connection
) -> None:
    config = configure()
    database.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    slot = create_slot(replication, config)
    begun = time.time()
    keeper = Keeper(config, slot.snapshot)
    ended = time.time()
    replication.close()
    database.execute("INSERT INTO t VALUES (2)")
    with connect(config) as reader:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        reader.execute(f"SET TRANSACTION SNAPSHOT '{keeper.snapshot_id}'".encode())
        assert reader.execute("SELECT id FROM public.t").fetchall() == [(1,)]
        state = find_slot(reader, config.slot_name)
    assert state is not None
    assert state.confirmed_flush_lsn == slot.consistent_point
    assert state.active_pid is None
    check_slot(state, config)
    assert begun - 0.001 <= keeper.taken_us / 1e6 <= ended
    assert keeper.transaction > 0
    assert keeper.alive()
    keeper.close()
    assert not keeper.alive()


def test_a_keeper_outlives_the_timeouts_of_the_server(
    database: Database, configure: Configure
) -> None:
    database.execute(
        f"ALTER DATABASE {database.name} SET idle_in_transaction_session_timeout = '200ms';"
        f"ALTER DATABASE {database.name} SET statement_timeout = '200ms';"
        f"ALTER DATABASE {database.name} SET idle_session_timeout = '200ms'"
    )
    keeper = Keeper(configure())
    other = psycopg.connect(database.dsn)
    other.execute("SELECT 1")
    # The server ends a transaction that began later.
    wait_for(lambda: not has_session(database, other.info.backend_pid))
    other.close()
    assert keeper.alive()
    keeper.close()


def has_session(database: Database, pid: int) -> bool:
    # Asked in another database, whose sessions have no such limits.
    return bool(database.server.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (pid,)))


def test_a_slot_that_exists_or_has_no_place_is_an_error(
    database: Database, configure: Configure, replication: psycopg.Connection
) -> None:
    config = configure()
    create_slot(replication, config)
    with pytest.raises(HeadraceError, match="already exists"):
        create_slot(replication, config)
    with connect(config) as connection:
        drop_slot(connection, config.slot_name)
        drop_slot(connection, config.slot_name)
        assert find_slot(connection, config.slot_name) is None


def test_a_slot_in_use_is_waited_for_and_then_named(
    database: Database, configure: Configure, replication: psycopg.Connection
) -> None:
    config = configure(slot__max__retries="2", slot__retry__delay__ms="400")
    create_slot(replication, config)
    ensure_publication(replication_free := connect(config), config, [])
    command = (
        f"START_REPLICATION SLOT {config.slot_name} LOGICAL 0/0"
        f" (proto_version '1', publication_names '{config.publication_name}')"
    )
    replication.pgconn.send_query(command.encode())

    def in_use() -> bool:
        state = find_slot(replication_free, config.slot_name)
        return state is not None and state.active_pid is not None

    wait_for(in_use)
    started = time.monotonic()
    with pytest.raises(HeadraceError, match="active for PID"):
        wait_until_free(replication_free, config)
    assert time.monotonic() - started > 0.5
    patient = configure(slot__max__retries="1000", slot__retry__delay__ms="100")
    threading.Timer(0.2, replication.close).start()
    wait_until_free(replication_free, patient)
    assert not in_use()
    replication_free.close()


def test_a_snapshot_is_renewed_when_open_transactions_have_ended(
    database: Database, configure: Configure
) -> None:
    database.execute("CREATE TABLE t (id int)")
    first = Keeper(configure())
    waits: list[str] = []
    with database.connect() as writer:
        writer.execute("BEGIN")
        writer.execute("INSERT INTO t VALUES (1)")

        def commit() -> None:
            waits.append("waited")
            writer.execute("COMMIT")

        # Everything that began before now must be seen, and the writer did.
        keeper = renew(configure(), None, commit, waits.append)
    assert waits == ["waited"]
    assert keeper.connection.execute("SELECT id FROM public.t").fetchall() == [(1,)]
    assert first.connection.execute("SELECT id FROM public.t").fetchall() == []
    again = renew(configure(), first.visible, commit, waits.append)
    assert waits == ["waited"]
    for opened in (first, keeper, again):
        opened.close()


def published_tables(connection: psycopg.Connection, name: str) -> set[tuple[str, str]]:
    rows = connection.execute(
        "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", (name,)
    ).fetchall()
    return {(schema, table) for schema, table in rows}


TABLES = [("public", "t"), ("public", "u")]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("all_tables", {"t", "u", "v"}),
        ("filtered", {"t", "u"}),
        ("no_tables", set()),
    ],
)
def test_the_publication_is_made_as_its_mode_says(
    database: Database, configure: Configure, mode: str, expected: set[str]
) -> None:
    database.execute("CREATE TABLE t (id int); CREATE TABLE u (id int); CREATE TABLE v (id int)")
    config = configure(publication__autocreate__mode=mode, skipped__operations="t,d")
    with connect(config) as connection:
        assert ensure_publication(connection, config, TABLES)
        assert not ensure_publication(connection, config, TABLES)
        published = published_tables(connection, config.publication_name)
    assert published == {("public", name) for name in expected}
    operations = "SELECT pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication"
    assert database.execute(operations) == [(True, True, False, False)]


def test_a_filtered_publication_follows_the_captured_tables(
    database: Database, configure: Configure
) -> None:
    database.execute("CREATE TABLE t (id int); CREATE TABLE u (id int)")
    config = configure(publication__autocreate__mode="filtered")
    with connect(config) as connection:
        ensure_publication(connection, config, TABLES)
        ensure_publication(connection, config, TABLES[:1])
        assert published_tables(connection, config.publication_name) == set(TABLES[:1])


def test_publications_that_cannot_serve_are_named(database: Database, configure: Configure) -> None:
    database.execute(f"CREATE TABLE t (id int); CREATE PUBLICATION {database.name} FOR ALL TABLES")
    config = configure(publication__autocreate__mode="filtered")
    role = f"weak_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    try:
        with connect(config) as connection, pytest.raises(HeadraceError, match="unsuitable"):
            ensure_publication(connection, config, TABLES[:1])
        database.execute(f"DROP PUBLICATION {database.name}")
        weak = configure(publication__autocreate__mode="filtered", database__user=role)
        with connect(weak) as connection, pytest.raises(HeadraceError, match="privilege"):
            ensure_publication(connection, weak, TABLES[:1])
    finally:
        database.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize("via_root", ["false", "true"])
def test_a_filtered_publication_of_partitions_needs_its_owner_only_once(
    database: Database, configure: Configure, via_root: str
) -> None:
    database.execute(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)"
    )
    settings = {
        "publication__autocreate__mode": "filtered",
        "publish__via__partition__root": via_root,
    }
    role = f"weak_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    try:
        for tables in ([("public", "p")], [("public", "p"), ("public", "p1")]):
            owner, weak = configure(**settings), configure(**settings, database__user=role)
            with connect(owner) as connection:
                ensure_publication(connection, owner, tables)
            with connect(weak) as connection:
                assert not ensure_publication(connection, weak, tables)
    finally:
        database.execute(f"DROP ROLE {role}")
