"""Errors of drivers: they are distinguished by the driver's message, and shown without secrets."""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from pymongo.errors import AutoReconnect, ConfigurationError, OperationFailure

from headrace.config.secret import HIDDEN
from headrace.connectors.db2 import errors as db2
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.reading.snapshot_source import Db2SnapshotSource
from headrace.connectors.mongodb import errors as mongodb
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.oracle import errors as oracle
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.reading.snapshot_source import OracleSnapshotSource
from headrace.connectors.postgresql import connection as postgresql
from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.heartbeats import heartbeat_query
from headrace.connectors.postgresql.reading.dialect import copied
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.connectors.postgresql.reading.snapshot_reader import _Rows
from headrace.connectors.postgresql.reading.table_chunk import TableChunk
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.snapshots.chunks import Chunk, ChunkKind
from headrace.snapshots.slices import ChunkQuery
from headrace.snapshots.tables import Leaf
from tests.servers.postgresql import Database

Translated = Callable[[str, str], HeadraceError]
"""The error for a driver's text, where the password is the second text."""

_SQL = {
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "D",
}


def of_postgresql(text: str, password: str) -> HeadraceError:
    config = PostgresConfig.parse({**_SQL, "database.password": password})
    return postgresql.translate(psycopg.OperationalError(text), config)


def of_db2(text: str, password: str) -> HeadraceError:
    config = Db2Config.parse({**_SQL, "database.password": password})
    translated = db2.translate(db2.DriverError(text), config)
    assert translated is not None
    return translated


def of_oracle(text: str, password: str) -> HeadraceError:
    config = OracleConfig.parse({**_SQL, "database.password": password})
    translated = oracle.translate(oracle.DriverError(text), config)
    assert translated is not None
    return translated


def _mongo(password: str) -> MongoConfig:
    string = "mongodb://h/?replicaSet=rs0"
    return MongoConfig.parse(
        {
            "topic.prefix": "p",
            "mongodb.connection.string": string,
            "mongodb.user": "u",
            "mongodb.password": password,
        }
    )


def of_mongodb(text: str, password: str) -> HeadraceError:
    return mongodb.translate(AutoReconnect(text), _mongo(password))


def of_mongodb_server(text: str, password: str) -> HeadraceError:
    return mongodb.translate(OperationFailure(text, 1, {"errmsg": text}), _mongo(password))


def of_mongodb_driver(text: str, password: str) -> HeadraceError:
    return mongodb.translate(ConfigurationError(text), _mongo(password))


@pytest.mark.parametrize(
    ("translated", "text"),
    [
        (of_postgresql, 'FATAL:  password authentication failed for user "u"'),
        (of_postgresql, "fe_sendauth: no password supplied"),
        (of_postgresql, 'FATAL:  role "x" does not exist'),
        (of_postgresql, "FATAL:  the database system is starting up"),
        (of_postgresql, 'FATAL:  no pg_hba.conf entry for host "10.0.0.1", SSL off'),
        (of_postgresql, "FATAL:  must be superuser or replication role to start walsender"),
        (of_postgresql, "SSL error: certificate verify failed"),
        (of_db2, "[IBM][CLI Driver] SQL30082N  USERID DISABLED or RESTRICTED SQLCODE=-30082"),
        (of_db2, "[IBM][CLI Driver] GSKit Error: 414 SQLSTATE=08001 SQLCODE=-30081"),
        (of_db2, "<built-in function execute> returned a result with an exception set"),
        (of_oracle, "ORA-01017: invalid username/password; logon denied"),
        (of_oracle, "DPY-4011: the database or network closed the connection"),
        (of_mongodb, "SSL handshake failed: certificate verify failed"),
        (of_mongodb_server, "command find requires authentication"),
        (of_mongodb_server, "bad auth : authentication failed"),
        (of_mongodb_server, "Bad resume token string"),
        (of_mongodb_driver, "Server at h reports wire version 4, but pymongo needs 8"),
        (of_mongodb_driver, "Sessions are not supported by this MongoDB deployment"),
    ],
)
def test_a_password_that_is_in_the_drivers_words_changes_no_code(
    translated: Translated, text: str
) -> None:
    plain = translated(text, "nowhere-in-it")
    words = set(re.findall(r"\w+", text))
    passwords = {*words, text.strip()[-20:], text[:9], *(word[:4] for word in words)}
    for password in filter(str.strip, passwords):
        error = translated(text, password)
        error_fields = (error.code, error.remedy, error.retriable)
        assert error_fields == (plain.code, plain.remedy, plain.retriable), password


@pytest.mark.postgres
def test_a_real_server_that_does_not_know_the_user_says_so_whatever_the_password_is(
    database: Database,
) -> None:
    for password in ("role", "FATAL", "exist"):
        properties = {"database.user": "nobody_here", "database.password": password}
        config = PostgresConfig.parse(database.properties() | properties)
        with pytest.raises(HeadraceError) as raised:
            postgresql.connect(config)
        assert raised.value.code == "postgresql.authentication"
        assert f" {password} " not in raised.value.message


@pytest.mark.parametrize("translated", [of_postgresql, of_db2, of_oracle, of_mongodb])
@pytest.mark.parametrize("password", ["e", "db", "post"])
def test_every_connector_hides_a_short_password_where_it_is_alone(
    translated: Translated, password: str
) -> None:
    words = 'the database "postdb" does not exist'
    error = translated(f"{words}; PWD={password}; login ({password})", password)
    assert f"{words}; PWD={HIDDEN}; login ({HIDDEN})" in error.message


@pytest.mark.parametrize("translated", [of_postgresql, of_db2, of_oracle, of_mongodb])
def test_every_connector_hides_a_long_password_anywhere_and_encoded(
    translated: Translated,
) -> None:
    error = translated("xhunter/2@home, hunter%2F2%40home, HUNTER/2@HOME", "hunter/2@home")
    assert f"x{HIDDEN}, {HIDDEN}, {HIDDEN}" in error.message


def test_a_percent_encoded_password_of_a_connection_string_is_hidden_in_both_forms() -> None:
    string = "mongodb://u:p%40ss%2Fw%C3%B6rd@h/?tlsCertificateKeyFilePassword=key-word-1"
    config = MongoConfig.parse({"topic.prefix": "p", "mongodb.connection.string": string})
    for text in ("p%40ss%2Fw%C3%B6rd", "p%40ss%2fw%c3%b6rd", "p@ss/wörd", "key-word-1"):
        message = mongodb.translate(AutoReconnect(f"login ({text})"), config).message
        assert f"login ({HIDDEN})" in message


def test_no_part_of_a_long_answer_is_cut_before_the_password_in_it_is_hidden() -> None:
    password = "hunter, Timeout: 2" + "x" * 300
    error_text = str(of_mongodb(f"no login for {password}", password))
    assert "hunter" not in error_text


@pytest.mark.postgres
def test_sql_of_the_user_with_a_password_is_quoted_without_it(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute("CREATE TABLE public.t (id int PRIMARY KEY)")
    table = "snapshot.select.statement.overrides"
    properties = database.properties() | {
        "heartbeat.action.query": "SELECT dblink('password=hunter2sales host=h') junk 'x'",
        table: "public.t",
        f"{table}.public.t": "SELECT * FROM \"password='hunter2-override'\"",
        "database.initial.statements": "SELECT 'a' || password = 'hunter2-initial",
    }
    config = PostgresConfig.parse(properties)
    texts = [repr(config), str(config.redacted())]
    with pytest.raises(HeadraceError) as raised:
        postgresql.connect(config)
    texts.append(str(raised.value))
    del properties["database.initial.statements"]
    config = PostgresConfig.parse(properties)
    with pytest.raises(HeadraceError, match=table) as raised:
        check_overrides(config)
    texts.append(str(raised.value))
    query = heartbeat_query(config)
    assert query is not None
    query.run()
    texts += [str(finding) for finding in query.examine()] + [caplog.text]
    assert "hunter2" not in " ".join(texts)
    assert "heartbeat.action.query" in texts[-1]
    assert len(texts) == 6


@pytest.mark.postgres
def test_rows_of_a_statement_with_a_password_fail_without_it(database: Database) -> None:
    table = "snapshot.select.statement.overrides"
    statement = "SELECT 'password=hunter2-override'::int AS id"
    more = {table: "public.t", f"{table}.public.t": statement}
    config = PostgresConfig.parse(database.properties() | more)
    connection = postgresql.connect(config)
    connection.execute("BEGIN")
    rows = _Rows(config, connection)
    described: Any = object.__new__(CatalogTable), Leaf(0, "public", "t", 0, 0), None
    chunk = TableChunk(copied(statement), *described)
    query = ChunkQuery(Chunk(0, 1, ChunkKind.WHOLE), chunk, object.__new__(RelationFacts))
    with pytest.raises(HeadraceError) as raised:
        list(rows.blocks(query))
    assert "invalid input syntax for type integer" in raised.value.message
    assert "hunter2" not in str(raised.value)
    rows.close()


@pytest.mark.postgres
def test_the_login_of_a_real_server_leaves_no_password_in_logs_or_tracebacks(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "hunter2-of-nobody"
    properties = {"database.user": "nobody_here", "database.password": secret}
    config = PostgresConfig.parse(database.properties() | properties)
    with caplog.at_level(logging.DEBUG), pytest.raises(HeadraceError) as raised:
        postgresql.connect(config)
    assert secret not in caplog.text
    assert secret not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("source", "config", "error"),
    [
        (Db2SnapshotSource, Db2Config, db2.DriverError("SQL0104N {} SQLSTATE=42601 SQLCODE=-104")),
        (OracleSnapshotSource, OracleConfig, oracle.DriverError("ORA-00904: {}: invalid")),
    ],
)
def test_a_refused_statement_of_the_user_is_reported_without_its_password(
    source: Any, config: Any, error: Any
) -> None:
    table = "snapshot.select.statement.overrides"
    parsed = config.parse(
        {
            **_SQL,
            table: "S.T",
            f"{table}.S.T": "SELECT * FROM T WHERE password = 'hunter2-of-t'",
        }
    )
    refused = object.__new__(source)
    refused._config = parsed
    error.text = error.text.format("hunter2-of-t")
    assert refused._fault(error) == error.text.replace("hunter2-of-t", HIDDEN)
    error.text = error.text.replace("hunter2-of-t", "ter2-of")
    assert "ter2" not in refused._fault(error)
