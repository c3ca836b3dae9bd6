"""`headrace check` and `headrace signal` end whatever the server does."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from headrace.connectors.postgresql.checks.database import check
from headrace.connectors.registry import parse_configuration, send_signal
from headrace.errors import HeadraceError
from tests.servers.postgresql import Database

HANGS_FOR_S = 20
"""The time in seconds that a hanging statement takes: then the check ends, too, with another
message."""


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port where connections are taken and nothing is ever said, for a while."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()
        connections = []

        def serve() -> None:
            while not ended.is_set():
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Timer(HANGS_FOR_S, connection.close).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        ended.set()
        socket.create_connection(listener.getsockname()).close()
        thread.join()
        for connection in connections:
            connection.close()


def test_a_server_that_says_nothing_is_unreachable(silent_port: int) -> None:
    properties = {"connector.class": "postgresql", "topic.prefix": "p",
                  "database.hostname": "127.0.0.1", "database.port": str(silent_port),
                  "database.user": "u", "database.dbname": "d",
                  "connection.validation.timeout.ms": "2000"}  # fmt: skip
    (finding,) = check(parse_configuration(properties))
    assert finding.code == "postgresql.unreachable"
    assert "timeout" in finding.message


@contextlib.contextmanager
def locked(database: Database, table: str) -> Iterator[None]:
    """Locks a table by another session."""
    with database.connect() as connection:
        connection.autocommit = False
        connection.execute(f"LOCK {table} IN ACCESS EXCLUSIVE MODE".encode())
        release = threading.Timer(HANGS_FOR_S, connection.rollback)
        release.start()
        yield
        release.cancel()
        release.join()
        connection.rollback()


@pytest.mark.postgres
def test_a_signal_to_a_locked_table_is_ended_and_named(database: Database) -> None:
    database.execute("CREATE TABLE signals (id text PRIMARY KEY, type text, data text)")
    properties = database.properties() | {
        "signal.data.collection": "public.signals",
        "database.query.timeout.ms": "1000",
    }
    with locked(database, "signals"), pytest.raises(HeadraceError, match="statement timeout"):
        send_signal(parse_configuration(properties), "log", '{"message": "x"}')


@pytest.mark.postgres
def test_a_query_that_waits_for_a_lock_is_ended_and_named(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    properties = database.properties() | {"connection.validation.timeout.ms": "1000"}
    with locked(database, "pg_publication"):
        findings = check(parse_configuration(properties))
    (error,) = [finding for finding in findings if finding.level == "error"]
    assert error.code == "postgresql.query_timeout"
    assert "statement timeout" in error.message
    assert "connection.validation.timeout.ms" in error.remedy
    assert "database.query.timeout.ms" not in error.remedy
