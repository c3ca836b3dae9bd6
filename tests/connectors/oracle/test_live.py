"""Statements of the tests for a live Oracle: SQL that it can read, and nothing that only the
stand-in can do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlglot

from headrace.connectors.oracle.config import OracleConfig
from tests.connectors.oracle.live import DSN, LiveOracle
from tests.servers.oracle import PDB, OracleDatabase

ENVIRONMENT = {
    DSN: "oracle.example.org:1521/ORCLCDB",
    "HEADRACE_ORACLE_PASSWORD": "connectors",
    "HEADRACE_ORACLE_ADMIN_PASSWORD": "administrators",
}


_UNREAD = (
    "ALTER SESSION", "ALTER TABLE", "ALTER USER", "COMMIT", "CREATE USER", "DROP TABLE", "GRANT",
    "ROLLBACK", "SAVEPOINT",
)  # fmt: skip
"""Statements that sqlglot does not know in Oracle's form."""


class _Session:
    """Keeps what is sent; no driver, and no server."""

    def __init__(self, sent: list[tuple[str, str, list[Any]]], **named: Any) -> None:
        self._sent, self.named = sent, named
        self.client_identifier = ""
        self.rowcount = 1

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing: nothing is open."""

    def cursor(self) -> _Session:
        return self

    def execute(self, statement: str, binds: list[Any]) -> None:
        self._sent.append((self.named["user"].strip('"'), statement, binds))

    def commit(self) -> None:
        self._sent.append((self.named["user"].strip('"'), "COMMIT", []))

    rollback = close = commit


@pytest.fixture
def sent() -> list[tuple[str, str, list[Any]]]:
    """Users, statements and values."""
    return []


@pytest.fixture
def live(sent: list[tuple[str, str, list[Any]]]) -> OracleDatabase:
    server = LiveOracle(ENVIRONMENT, lambda **named: _Session(sent, **named))
    return OracleDatabase.create(server)  # type: ignore[arg-type]


def test_what_tests_do_is_sql_that_an_oracle_reads(
    live: OracleDatabase, sent: list[tuple[str, str, list[Any]]]
) -> None:
    live.create_table(
        "T", "ID NUMBER(9,0) NOT NULL", '"text" VARCHAR2(40)', "AT TIMESTAMP(6)", key=["ID"],
        unique=[["text"]], rows=[[1, "one", "2020-01-01 00:00:00.25"]],
    )  # fmt: skip
    live.server.ddl("ALTER TABLE INV.T ADD (MORE NUMBER(5))")
    with live.transaction("EVE", "web") as transaction:
        transaction.insert("INV.T", ID=2, text="two")
        transaction.savepoint("s")
        transaction.update("INV.T", {"ID": 2, "text": "two"}, text="it's")
        transaction.rollback_to("s")
        transaction.delete("INV.T", ID=1)
    live.server.load({})
    for _, statement, binds in sent:
        if not statement.startswith(_UNREAD):
            readable = re.sub(r":(\d+)", r":b\1", statement.replace("\n  USING INDEX  ENABLE", ""))
            sqlglot.parse_one(readable, dialect="oracle")
        assert len(set(re.findall(r"(?<=[ (]):\d+", statement))) == len(binds)
    written = [(user, statement, binds) for user, statement, binds in sent if "INV" in statement]
    assert ("EVE", 'INSERT INTO "INV"."T" ("ID", "text") VALUES (:1, :2)', [2, "two"]) in written
    update = 'UPDATE "INV"."T" SET "text" = :1 WHERE "ID" = :2 AND "text" = :3'
    assert ("EVE", update, ["it's", 2, "two"]) in written
    assert ("EVE", 'DELETE FROM "INV"."T" WHERE "ID" = :1', [1]) in written
    assert any("SUPPLEMENTAL LOG DATA (ALL)" in statement for _, statement, _ in written)
    assert written[-1][1] == 'DROP TABLE "INV"."T" PURGE'
    secrets = [
        password for _, statement, _ in sent for password in re.findall(r'BY "(\w+)"', statement)
    ]
    assert len(secrets) >= 4
    assert len(set(secrets)) == 2


@pytest.mark.parametrize(
    "asked",
    [
        lambda live: live.server.load({"database": {"threads": [1, 2]}}),
        lambda live: live.server.apply([{"redo": "START", "xid": "0a00010001030000"}]),
        lambda live: live.server.apply([{"error": 1291, "when": "START_LOGMNR"}]),
        lambda live: live.change(log_mode="NOARCHIVELOG"),
        lambda live: live.server.call("end_sessions"),
        lambda live: live.server.shut(),
        lambda live: live.server.begin("SYS"),
        lambda live: live.server.begin(thread=2),
    ],
)
def test_tests_of_what_only_the_stand_in_can_do_are_skipped(
    live: OracleDatabase, asked: Any
) -> None:
    with pytest.raises(pytest.skip.Exception, match="a live Oracle cannot be made to"):
        asked(live)


def test_the_connector_gets_the_server_that_is_named(live: OracleDatabase) -> None:
    config = OracleConfig.parse(live.properties())
    place = (config.database_hostname, config.database_port, config.database_dbname)
    assert place == ("oracle.example.org", 1521, "ORCLCDB")
    assert config.catalog_name == PDB
    assert config.driver == {}


def test_tests_of_the_stand_in_are_skipped_where_a_server_is_named_and_say_so() -> None:
    tests = Path(__file__).with_name("test_stand_in.py")
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-rs", "-p", "no:cacheprovider"]
    answer = subprocess.run(
        [*command, "-m", "oracle", str(tests)],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    counted = {word: int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", answer.stdout)}
    assert answer.returncode == 0, answer.stdout
    assert counted["skipped"] > counted.get("passed", 0), "those without a server pass"
    assert "a live Oracle cannot be made to be the stand-in" in answer.stdout
