"""A start that fails takes away what it made; a slot that vanishes; a server that is hung."""

from __future__ import annotations

import logging
import socket
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest

from headrace.connectors.postgresql import connection, connector
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.starting import run
from headrace.connectors.postgresql.starting.stored_position import StoredPosition
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError

PROPERTIES = {
    "connector.class": "postgresql",
    "database.hostname": "127.0.0.1",
    "database.user": "u",
    "database.dbname": "d",
    "topic.prefix": "p",
    "slot.drop.on.stop": "true",
}
NOWHERE = cast("psycopg.Connection", None)


def config_with(**more: str) -> PostgresConfig:
    changes = {name.replace("__", "."): value for name, value in more.items()}
    return cast("PostgresConfig", parse_configuration(PROPERTIES | changes))


@pytest.mark.parametrize("fails_again", [False, True])
def test_what_a_failed_start_made_is_dropped_on_another_connection(
    fails_again: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = cast("psycopg.Connection", object())
    tried_connections = []

    def connect(*_: object, **__: object) -> Any:
        if fails_again:
            raise HeadraceError("postgresql.connection", "away", "Wait.")
        return nullcontext(other)

    def drop(chosen: psycopg.Connection) -> bool:
        tried_connections.append(chosen)
        if chosen is NOWHERE:
            raise psycopg.OperationalError("the connection is lost")
        return True

    monkeypatch.setattr(run, "connect", connect)
    run.undo_making(config_with(), "the slot debezium", "SELECT drop()", drop, NOWHERE)
    assert tried_connections == ([NOWHERE] if fails_again else [NOWHERE, other])
    is_reported = (
        "the slot debezium that it created stays" in caplog.text and "SELECT drop();" in caplog.text
    )
    assert is_reported == fails_again


def test_what_is_in_use_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    run.undo_making(config_with(), "the slot s", "SELECT 1", lambda _: False, NOWHERE)
    assert "the slot s that it created stays: it is in use" in caplog.text


def test_a_slot_that_vanishes_leaves_the_position_where_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readiness = SimpleNamespace()
    position = StoredPosition(
        cast(Any, SimpleNamespace(config=config_with())), cast(Any, readiness)
    )
    monkeypatch.setattr(position, "_slot", lambda: None)
    moved = position.follow(PostgresOffset("p", PostgresPosition(77), 1, "system"))
    assert (moved.position.lsn_commit, moved.epoch) == (77, 2)


def test_a_server_that_does_not_answer_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connector, "END_LIMIT_MS", 2000)
    with socket.create_server(("127.0.0.1", 0)) as hung:
        config = config_with(database__port=str(hung.getsockname()[1]))
        database = SimpleNamespace(streams=True, _config=config)
        begun = time.monotonic()
        connector.PostgresDatabase.drop(cast(Any, database))
        assert time.monotonic() - begun < 20
    assert "could not be dropped" in caplog.text


def test_a_limit_of_the_user_that_is_shorter_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts: list[object] = []

    def refuse(**arguments: object) -> None:
        timeouts.append(arguments["connect_timeout"])
        raise psycopg.OperationalError("no")

    monkeypatch.setattr(connection.psycopg, "connect", refuse)
    for limit in ("3000", "60000", "0"):
        config = config_with(connection__validation__timeout__ms=limit)
        with pytest.raises(HeadraceError):
            connection.connect(config, limit=connection.CHECK_LIMIT, at_most_ms=5000)
    assert timeouts == [3, 5, 5]
