"""Passwords that change while the server is captured."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.testing.embedded import PostgresServer
from tests.connectors.harness import ConnectorReader, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

FIRST, SECOND = "the first password", "the second password"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Database]:
    """A database whose role `app` logs in with a password."""
    with PostgresServer() as server:
        server.start()
        rules = server.data / "pg_hba.conf"
        login = "host all,replication app 127.0.0.1/32 scram-sha-256\n"
        rules.write_text(login + rules.read_text())
        server.execute("SELECT pg_reload_conf()")
        server.execute("CREATE ROLE app LOGIN REPLICATION")
        database = Database.create(server)
        database.execute("CREATE TABLE t (id int PRIMARY KEY)")
        database.execute("GRANT SELECT ON t TO app")
        database.execute(f'CREATE PUBLICATION "{database.name}" FOR TABLE t')
        yield database


@pytest.fixture
def rotate(guarded: Database, tmp_path: Path) -> Callable[..., None]:
    """Gives the role a password and, unless `in_file` is another one, writes it into the file."""

    def change(password: str, in_file: str | None = None) -> None:
        guarded.execute(f"ALTER ROLE app PASSWORD '{password}'")
        (tmp_path / "password").write_text(in_file or password)

    change(FIRST)
    return change


def properties(guarded: Database, folder: Path, **more: str) -> dict[str, str]:
    reference = {"database_password": f"${{dir:{folder}:password}}", "database_user": "app"}
    return guarded.properties(publication_autocreate_mode="disabled", **reference, **more)


def cut(guarded: Database) -> None:
    guarded.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")


@pytest.mark.parametrize("by", ["file", "command"])
def test_the_stream_continues_after_the_password_was_rotated_and_the_connection_cut(
    guarded: Database, rotate: Callable[..., None], tmp_path: Path, by: str
) -> None:
    guarded.execute("TRUNCATE t")
    waits = {"retriable_restart_connector_wait_ms": "100"}
    reader_properties = properties(guarded, tmp_path, snapshot_mode="no_data", **waits)
    if by == "command":
        del reader_properties["database.password"]
        reader_properties["headrace.credentials.command"] = shlex.join(
            ["cat", str(tmp_path / "password")]
        )
        reader_properties["headrace.credentials.lifetime.ms"] = "1 h"
    reader = ConnectorReader(reader_properties)
    reader.step_until(lambda: guarded.execute("SELECT 1 FROM pg_replication_slots WHERE active"))
    guarded.execute("INSERT INTO t VALUES (1)")
    reader.step_until(lambda: len(reader.records) == 1)
    rotate(SECOND)
    cut(guarded)
    guarded.execute("INSERT INTO t VALUES (2)")
    reader.step_until(lambda: len(reader.records) == 2)
    assert [event["after"]["id"] for event in reader.events()] == [1, 2]
    reader.stop()
    guarded.drop_slot()


def test_ranges_of_a_snapshot_are_read_with_the_new_password(
    guarded: Database, rotate: Callable[..., None], tmp_path: Path
) -> None:
    guarded.execute("TRUNCATE t; INSERT INTO t SELECT generate_series(1, 9)")
    reader = ConnectorReader(properties(guarded, tmp_path, snapshot_mode="initial_only"))
    wait_for(lambda: reader.plan() != reader.offsets[0])
    rotate(SECOND)
    reader.step_until(
        lambda: {event["after"]["id"] for event in reader.events()} == set(range(1, 10))
    )
    reader.stop()


def test_a_login_is_tried_once_more_with_a_password_that_changed_meanwhile(
    guarded: Database,
    rotate: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = parse_configuration(properties(guarded, tmp_path))
    assert isinstance(config, PostgresConfig)
    import psycopg

    log_in, logins = psycopg.connect, []

    def logs_in(**arguments: object) -> object:
        if not logins:
            rotate(SECOND)  # after the file was read
        logins.append(arguments["password"])
        return log_in(**arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(psycopg, "connect", lambda *arguments, **named: log_in(*arguments, **named)
                        if arguments else logs_in(**named))  # fmt: skip
    with connect(config) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("app",)
    assert logins == [FIRST, SECOND]


def test_a_password_that_stays_wrong_is_an_error_at_once_that_shows_none(
    guarded: Database, rotate: Callable[..., None], tmp_path: Path
) -> None:
    config = parse_configuration(properties(guarded, tmp_path))
    assert isinstance(config, PostgresConfig)
    rotate(SECOND, in_file=FIRST)
    with pytest.raises(HeadraceError, match=r"postgresql\.authentication\]") as raised:
        connect(config)
    assert FIRST not in str(raised.value)
