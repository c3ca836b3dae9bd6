"""The reader of a connection's socket: headrace only if nothing is encrypted."""

from __future__ import annotations

import contextlib

import pytest

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, parameters
from headrace.connectors.postgresql.reading import copy_reader
from headrace.connectors.postgresql.replication import stream as log
from headrace.connectors.registry import parse_configuration
from tests.servers.postgresql import Database


def configured(properties: dict[str, str]) -> PostgresConfig:
    config = parse_configuration(properties)
    assert isinstance(config, PostgresConfig)
    return config


PROPERTIES = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "t",
    "database.hostname": "localhost",
    "database.user": "u",
    "database.dbname": "d",
}


def test_gss_encryption_is_for_those_who_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGGSSENCMODE", "prefer")

    def mode(**more: str) -> object:
        config = configured(PROPERTIES | more)
        return parameters(config, replication=True, application="x")["gssencmode"]

    assert mode() == "disable"
    assert mode(**{"driver.gssencmode": "require"}) == "require"


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("mode", "stream", "messages"),
    [
        (None, "SocketStream", "_SocketMessages"),
        ("prefer", "LibpqStream", "_LibpqMessages"),
    ],
)
def test_libpq_reads_where_the_socket_may_be_encrypted_by_gss(
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    mode: str | None,
    stream: str,
    messages: str,
) -> None:
    more = {} if mode is None else {"driver.gssencmode": mode}
    config = configured(database.properties() | more)
    opened: list[str] = []

    def noted(kind: type) -> object:
        def make(*arguments: object) -> object:
            opened.append(kind.__name__)
            return kind(*arguments)

        return make

    for module, names in (
        (log, ("SocketStream", "LibpqStream")),
        (copy_reader, ("_SocketMessages", "_LibpqMessages")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, noted(getattr(module, name)))
    with connect(config) as connection:
        rows = list(copy_reader.read_copy(connection.pgconn, "COPY (SELECT 1) TO STDOUT"))
    assert len(rows) == 1
    database.execute("SELECT pg_create_logical_replication_slot('gss', 'pgoutput')")
    database.execute("CREATE PUBLICATION gss")
    replication = connect(config, replication=True)
    with contextlib.closing(
        log.open_stream(replication.pgconn, log.start_command("gss", 0, "gss", {}))
    ) as log_stream:
        log_stream.wait(10)
    assert opened == [messages, stream]
