"""Statements, metadata and errors on the wire, as the connector sees them."""

from __future__ import annotations

import datetime as dt
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal

import pytest

from headrace.connectors.db2 import sql
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import Registration, registrations
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, Isolation, connect, connection_string
from headrace.connectors.db2.errors import DriverError, translate
from headrace.errors import HeadraceError
from headrace_demo.db2.derby import DerbyServer
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

FIRST, LAST = bytes(16), b"\xff" * 16


def config_of(database: Db2Database, **more: str) -> Db2Config:
    return Db2Config.parse(database.properties(**more))


def config_with(name: str, value: str) -> Db2Config:
    """A configuration with a keyword of the driver; nothing is connected to."""
    connection = {"hostname": "h", "user": "u", "dbname": "D"}
    return Db2Config.parse(
        {"topic.prefix": "s", f"driver.{name}": value}
        | {f"database.{part}": text for part, text in connection.items()}
    )


PASSWORDS = ["a{b}c", "{ab}", "ab}", "{ab", "a'b", 'a"b', "a=b"]


@pytest.fixture(scope="module")
def braced_server(derby_server: DerbyServer) -> Iterator[DerbyServer]:
    """A server whose users have unusual passwords; skipped where `derby_server` is."""
    settings = {
        "derby.connection.requireAuthentication": "true",
        "derby.authentication.provider": "BUILTIN",
        "derby.user.DB2INST1": "unused",
    } | {f"derby.user.U{number}": text for number, text in enumerate(PASSWORDS)}
    with DerbyServer(settings) as server:
        yield server


@pytest.fixture
def connection(db2_database: Db2Database) -> Iterator[Connection]:
    with connect(config_of(db2_database)) as opened:
        yield opened


def error_of(connection: Connection, database: Db2Database, statement: str) -> HeadraceError:
    with pytest.raises(DriverError) as caught:
        connection.rows(statement)
    translated = translate(caught.value, config_of(database))
    assert translated is not None
    return translated


def registration_of(connection: Connection, database: Db2Database, table: str) -> Registration:
    (registration,) = (
        registration
        for registration in registrations(connection, config_of(database))
        if registration.source_table == table
    )
    return registration


def test_a_table_is_described_with_columns_key_and_types(
    db2_database: Db2Database, connection: Connection
) -> None:
    db2_database.create_table(
        "THINGS",
        """B BIGINT NOT NULL, A CHAR(3) NOT NULL, "d_%" DECIMAL(9,2) DEFAULT 1.50,
        TS TIMESTAMP, BITS VARCHAR(8) FOR BIT DATA, PRIMARY KEY (A, B)""",
    )
    db2_database.create_table("THINGSX", "ID INTEGER", captured=False)
    table = Catalog(connection).table("INV", "THINGS")
    assert table is not None
    assert table.key == ("A", "B")
    assert [
        (
            column.name,
            column.type.name,
            column.type.length_and_scale()[1],  # type: ignore[attr-defined]
            column.not_null,
            column.default,
        )
        for column in table.columns
    ] == [
        ("B", "BIGINT", 0, True, None),
        ("A", "CHAR", None, True, None),
        ("d_%", "DECIMAL", 2, False, "1.50"),
        ("TS", "TIMESTAMP", 6, False, None),
        ("BITS", "VARCHAR () FOR BIT DATA", None, False, None),
    ]


def test_a_name_is_no_pattern(db2_database: Db2Database, connection: Connection) -> None:
    db2_database.create_table("A_B", "ID INTEGER", captured=False)
    db2_database.create_table("AXB", "OTHER INTEGER", captured=False)
    catalog = Catalog(connection)
    assert [column.name for column in catalog.columns("INV", "A_B")] == ["ID"]
    assert catalog.table("INV", "A%") is None
    assert catalog.table("inv", "A_B") is None


def test_without_primary_key_a_unique_index_without_nulls_is_the_key(
    db2_database: Db2Database, connection: Connection
) -> None:
    db2_database.create_table("KEYED", "A INTEGER, B INTEGER NOT NULL, C INTEGER NOT NULL")
    db2_database.create_table("KEYLESS", "A INTEGER NOT NULL")
    for name, columns in (("I1", "A"), ("I2", "C, B")):
        db2_database.execute(f"CREATE UNIQUE INDEX INV.{name} ON INV.KEYED ({columns})")
    db2_database.execute("CREATE INDEX INV.I3 ON INV.KEYLESS (A)")
    catalog = Catalog(connection)
    tables = [catalog.table("INV", name) for name in ("KEYED", "KEYLESS")]
    assert [table and table.key for table in tables] == [("C", "B"), ()]


def test_tables_are_listed_and_views_are_not(
    db2_database: Db2Database, connection: Connection
) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.execute("CREATE VIEW INV.SHOWN AS SELECT * FROM INV.THINGS")
    listed = Catalog(connection).tables()
    assert ("INV", "THINGS") in listed
    assert ("ASNCDC", "CDC_INV_THINGS") in listed
    assert ("INV", "SHOWN") not in listed


def test_a_table_may_be_registered_twice(db2_database: Db2Database, connection: Connection) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.capture.add_table("INV", "THINGS", "CDC_AGAIN")
    db2_database.capture.set_state("CDC_INV_THINGS", "I")
    first, second = registrations(connection, config_of(db2_database))
    assert (first.change_table, first.state) == ("CDC_INV_THINGS", "I")
    assert (second.change_table, second.state) == ("CDC_AGAIN", "A")
    assert (second.source_schema, second.source_table) == ("INV", "THINGS")
    assert first.old_synchpoint is not None
    assert second.old_synchpoint is not None
    assert first.old_synchpoint < second.old_synchpoint
    assert second.has_pairs


def test_a_registration_of_a_view_is_not_a_second_one_of_its_table(
    db2_database: Db2Database, connection: Connection
) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.capture.add_table("INV", "THINGS", "CDC_VIEW")
    config = config_of(db2_database)
    held_tables = [("INV", "THINGS")]
    assert connection.rows(sql.held_tables(config)) == held_tables
    for table in ("IBMSNAP_REGISTER", "IBMSNAP_PRUNCNTL"):
        change_table = "CD_TABLE" if table == "IBMSNAP_REGISTER" else "PHYS_CHANGE_TABLE"
        db2_database.execute(
            f"UPDATE ASNCDC.{table} SET SOURCE_VIEW_QUAL = 1 WHERE {change_table} = 'CDC_VIEW'"
        )
    connection.rollback()
    (registration,) = registrations(connection, config)
    assert registration.change_table == "CDC_INV_THINGS"
    assert connection.rows(sql.held_tables(config)) == held_tables
    db2_database.execute("UPDATE ASNCDC.IBMSNAP_PRUNCNTL SET SOURCE_VIEW_QUAL = 1")
    connection.rollback()
    assert connection.rows(sql.held_tables(config)) == []


def test_changes_come_in_order_with_columns_by_name(
    db2_database: Db2Database, connection: Connection
) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(9)")
    registration = registration_of(connection, db2_database, "THINGS")
    with db2_database.transaction() as execute:
        execute("INSERT INTO INV.THINGS VALUES (1, 'a'), (2, NULL)", ())
        execute("UPDATE INV.THINGS SET V = 'b' WHERE ID = 1", ())
    newest = db2_database.capture.await_captured()
    columns = Catalog(connection).columns(registration.change_schema, registration.change_table)[3:]
    cursor = connection.cursor(sql.changes(registration, columns[::-1]), (FIRST, LAST))
    assert cursor.columns == (*sql.CHANGE_COLUMNS, "V", "ID")
    first = cursor.fetch(2)
    rows = first + cursor.fetch(10) + cursor.fetch(10)
    assert len(first) == 2
    assert [row[2:] for row in rows] == [
        ("I", "a", 1), ("I", None, 2), ("D", "a", 1), ("I", "b", 1),
    ]  # fmt: skip
    assert {row[0] for row in rows} == {newest}
    assert connection.rows(sql.oldest_change(registration)) == [(newest,)]
    assert connection.rows(sql.changes(registration, ()), (newest[:-1] + b"\xff", LAST)) == []


def test_times_of_commits_are_those_of_units_of_work(
    db2_database: Db2Database, connection: Connection
) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    newest = db2_database.capture.await_captured()
    config = config_of(db2_database)
    assert connection.rows(sql.newest_lsn(config)) == [(newest,)]
    times = connection.rows(sql.commit_times(config), (FIRST, LAST))
    assert [lsn for lsn, _ in times] == [newest]
    assert connection.rows(sql.first_commit_time(config), (FIRST, LAST)) == [times[0][1:]]
    for seconds, last in ((0, newest), (-1, None)):
        until = times[0][1] + dt.timedelta(seconds=seconds)
        bounds = (FIRST, LAST, until)
        assert connection.rows(sql.last_commit_until(config), bounds) == [(last,)]
    ((synchpoint, moved, now, distance),) = connection.rows(sql.capture_progress(config))
    assert synchpoint == newest
    assert moved <= now
    assert Decimal(distance) == 0
    ((latest, distance),) = connection.rows(sql.newest_lsn_and_clock(config))
    assert latest == newest
    assert Decimal(distance) == 0


def test_the_register_but_not_the_synchpoint_is_read_without_locks_on_zos() -> None:
    config = Db2Config.parse({"topic.prefix": "s", "db2.platform": "ZOS", "database.dbname": "D",
                              "database.hostname": "h", "database.user": "u"})  # fmt: skip
    for statement in (sql.capture_progress(config), sql.registrations(config)):
        assert statement.endswith(" FOR READ ONLY WITH UR")
    for statement in (sql.newest_lsn(config), sql.commit_times(config)):
        assert "WITH UR" not in statement


@pytest.mark.parametrize("isolation", list(Isolation))
def test_transactions_take_an_isolation(
    db2_database: Db2Database, connection: Connection, isolation: Isolation
) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    connection.isolate(isolation)
    with db2_database.transaction() as execute:
        execute("INSERT INTO INV.THINGS VALUES 1", ())
        if isolation is Isolation.UR:
            assert connection.rows("SELECT ID FROM INV.THINGS") == [(1,)]
    assert connection.rows("SELECT ID FROM INV.THINGS") == [(1,)]
    locks = db2_database.execute(
        "SELECT COUNT(*) FROM SYSCS_DIAG.LOCK_TABLE WHERE TABLENAME = 'THINGS' AND MODE = 'S'"
    )
    assert (locks > [(0,)]) == (isolation >= Isolation.RS)


def test_a_transaction_can_be_undone(db2_database: Db2Database, connection: Connection) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY", captured=False)
    for end, stays in ((connection.rollback, 0), (connection.commit, 1)):
        assert connection.rows("INSERT INTO INV.THINGS VALUES 1") == []
        end()
        assert connection.rows("SELECT COUNT(*) FROM INV.THINGS") == [(stays,)]


def test_what_is_not_there_is_named(db2_database: Db2Database, connection: Connection) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY")
    gone = error_of(connection, db2_database, "SELECT * FROM INV.NOTHING")
    assert gone.code == "db2.table_gone"
    assert "INV.NOTHING" in gone.message
    assert "cdc.control.schema" in gone.remedy
    column = error_of(connection, db2_database, "SELECT NOTHING FROM INV.THINGS")
    assert (column.code, column.retriable) == ("db2.column_gone", True)
    other = error_of(connection, db2_database, "SELECT * FROM")
    assert other.code == "db2.query_failed"
    assert "SQLSTATE 42X01" in other.message


def test_an_error_of_somebody_else_is_not_the_drivers(db2_database: Db2Database) -> None:
    assert translate(ValueError("x"), config_of(db2_database)) is None


@pytest.mark.parametrize(
    ("name", "value", "code", "retriable"),
    [
        ("database.dbname", "NODB", "db2.unknown_database", False),
        ("database.port", "1", "db2.connection_lost", True),
        ("driver.AUTHENTICATION", "SERVER_ENCRYPT", "db2.authentication_kind", False),
        ("database.password", "a;b", "db2.impossible_keyword", False),
    ],
)
def test_a_connection_that_is_refused_says_why(
    db2_database: Db2Database, name: str, value: str, code: str, retriable: bool
) -> None:
    config = Db2Config.parse(db2_database.properties() | {name: value})
    with pytest.raises(HeadraceError) as caught:
        connect(config)
    assert (caught.value.code, caught.value.retriable) == (code, retriable)
    assert "unused" not in str(caught.value)
    assert "a;b" not in str(caught.value)


def test_keywords_of_the_driver_override_ours(db2_database: Db2Database) -> None:
    text = connection_string(config_of(db2_database, driver_ConnectTimeout="7"))
    assert "CONNECTTIMEOUT=7;" in text
    assert "CONNECTTIMEOUT=30" not in text
    assert "AUTHENTICATION=SERVER;" in text


def test_the_driver_bounds_waiting_for_locks_and_writes_points_in_numbers() -> None:
    assert "LOCKTIMEOUT=60;" in connection_string(config_with("SECURITY", "SSL"))
    assert "PATCH2=15;" in connection_string(config_with("SECURITY", "SSL"))
    overridden = connection_string(config_with("LockTimeout", "5"))
    assert "LOCKTIMEOUT=5;" in overridden
    assert "LOCKTIMEOUT=60" not in overridden
    assert "PATCH2=6,15;" in connection_string(config_with("Patch2", "6,15"))
    on_zos = Db2Config.parse(
        {"topic.prefix": "s", "db2.platform": "ZOS", "database.dbname": "D",
         "database.hostname": "h", "database.user": "u"}
    )  # fmt: skip
    assert "LOCKTIMEOUT" not in connection_string(on_zos)


def test_the_driver_asks_the_server_to_bound_waiting(db2_database: Db2Database) -> None:
    with Overheard(db2_database.server.bridge.port) as overheard:
        config = config_of(db2_database, database_port=str(overheard.port))
        with connect(config) as connection:
            assert connection.rows("SELECT 1 FROM SYSIBM.SYSDUMMY1") == [(1,)]
    assert b"SET LOCK TIMEOUT = 60" in overheard.sent


class Overheard:
    """A loopback port that passes on what one client sends to another port, and keeps it."""

    def __init__(self, port: int) -> None:
        self.sent = bytearray()
        self._target, self._listening = port, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Overheard:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join(10)
        self._listening.close()

    def _serve(self) -> None:
        client, _ = self._listening.accept()
        with client, socket.create_connection(("127.0.0.1", self._target)) as server:
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            _pass_on(client, server, self.sent)
            server.shutdown(socket.SHUT_WR)
            back.join(10)


def _pass_on(
    source: socket.socket, target: socket.socket, received: bytearray | None = None
) -> None:
    with suppress(OSError):
        while sent := source.recv(1 << 16):
            if received is not None:
                received += sent
            target.sendall(sent)


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_may_have_every_character_but_the_semicolon(
    braced_server: DerbyServer, password: str
) -> None:
    number = PASSWORDS.index(password)
    database = Db2Database.create(braced_server)
    user = {"database_user": f"U{number}", "database_password": password}
    with connect(config_of(database, **user)) as connection:
        assert connection.rows("SELECT 1 FROM SYSIBM.SYSDUMMY1") == [(1,)]
    database.close()


@pytest.mark.parametrize(
    ("name", "value", "keyword"),
    [
        ("sslConnection", "true", "SECURITY=SSL;"),
        ("sslCertLocation", "/ca.pem", "SSLSERVERCERTIFICATE=/ca.pem;"),
        ("securityMechanism", "3", "AUTHENTICATION=SERVER;"),
    ],
)
def test_keywords_of_javas_driver_are_translated(name: str, value: str, keyword: str) -> None:
    assert keyword in connection_string(config_with(name, value))


@pytest.mark.parametrize("keyword", ["PWD", "pwd", "NEWPWD", "AccessToken", "TrustStorePassword"])
def test_a_secret_among_the_drivers_keywords_is_never_shown(keyword: str) -> None:
    config = config_with(f"driver.{keyword}", "word-7")
    assert "word-7" not in f"{config!r} {config.redacted()}"
    refused = DriverError("[IBM][CLI Driver] SQL0805N it has word-7 and 'unused' in it")
    error = translate(refused, config)
    assert error is not None
    assert "word-7" not in f"{error!r} {error} {error.__dict__}"


@pytest.mark.parametrize("name", ["sslTrustStoreLocation", "sslKeyStorePassword"])
def test_keywords_that_only_java_has_are_refused(name: str) -> None:
    with pytest.raises(HeadraceError, match=f"driver.{name} is of Java's driver"):
        connection_string(config_with(name, "x"))


def test_a_query_that_runs_does_not_outlive_its_connection(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY", captured=False)
    db2_database.execute("INSERT INTO INV.THINGS VALUES 1, 2, 3")
    config, statement = config_of(db2_database), "SELECT ID FROM INV.THINGS ORDER BY ID"
    with connect(config) as former:
        left = former.cursor(statement)
        assert left.fetch(1) == [(1,)]
    with connect(config) as connection:
        cursor = connection.cursor(statement)
        left.close()
        del left, former
        assert cursor.fetch(9) == [(1,), (2,), (3,)]


def test_a_function_of_the_driver_that_breaks_its_rules_is_tried_again() -> None:
    text = "<built-in function primary_keys> returned a result with an exception set"
    error = translate(DriverError(text), config_with("SECURITY", "SSL"))
    assert error is not None
    assert error.retriable
