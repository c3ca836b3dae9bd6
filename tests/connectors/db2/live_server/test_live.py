"""Statements of the tests for a live Db2: registrations and signals that it can read, and nothing
that only the stand-in can do. No server runs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.db2.config import Db2Config
from tests.connectors.db2.live_server.live import DSN, LiveDatabase, LiveDb2

ENVIRONMENT = {DSN: "db2.example.org:50001/SAMPLE", "HEADRACE_DB2_PASSWORD": "instances"}
SET_UP = Path(__file__).parent / "set-up.sh"


class _Session:
    """Keeps what is sent; no driver, and no server. Counts are 1, LSNs one byte."""

    def __init__(self, sent: list[tuple[str, tuple[object, ...]]], dsn: str) -> None:
        self._sent, self.dsn = sent, dsn
        self.description: list[str] | None = None
        self._rows: list[tuple[Any, ...]] = []

    def set_autocommit(self, on: bool) -> None:
        assert not on

    def cursor(self) -> _Session:
        return self

    def execute(self, statement: str, values: tuple[object, ...] | None = None) -> None:
        self._sent.append((statement, values or ()))
        is_query = statement.startswith("SELECT")
        self.description = ["A"] if is_query else None
        rows: list[tuple[Any, ...]] = [(1,)] if "COUNT" in statement else [(b"\x01",)]
        self._rows = [("T",)] if "SYSCAT" in statement else rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def commit(self) -> None:
        self._sent.append(("COMMIT", ()))

    def rollback(self) -> None:
        self._sent.append(("ROLLBACK", ()))

    def close(self) -> None:
        """Does nothing: nothing is open."""


@pytest.fixture
def sent() -> list[tuple[str, tuple[object, ...]]]:
    return []


@pytest.fixture
def live(sent: list[tuple[str, tuple[object, ...]]]) -> LiveDatabase:
    return LiveDatabase.of(LiveDb2(ENVIRONMENT, lambda dsn: _Session(sent, dsn)))


def statements(sent: list[tuple[str, tuple[object, ...]]]) -> list[str]:
    return [statement for statement, _ in sent]


def test_a_table_is_registered_in_one_transaction_and_capture_gets_a_signal(
    live: LiveDatabase, sent: list[tuple[str, tuple[object, ...]]]
) -> None:
    live.create_table("T", "ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20)")
    texts = statements(sent)
    first = texts.index('ALTER TABLE "INV"."T" DATA CAPTURE CHANGES')
    end = texts.index("COMMIT", first)
    registered = texts[first:end]
    assert any(
        registration.startswith('CREATE TABLE "ASNCDC"."CDC_INV_T" AS')
        for registration in registered
    )
    assert "STOP_ON_ERROR = 'N'" in registered[-1], "a test stops nobody else's registration"
    signalled, *_ = (text for text in texts[end:] if "IBMSNAP_SIGNAL" in text)
    assert "'CAPSTART'" in signalled
    assert "SOURCE_TABLE = 'T'" in signalled


def test_what_is_committed_is_captured_once_a_later_row_is(
    live: LiveDatabase, sent: list[tuple[str, tuple[object, ...]]]
) -> None:
    with live.transaction() as execute:
        execute("INSERT INTO INV.T VALUES (?)", (1,))
    assert live.capture.await_captured() == b"\x01"
    live.capture.await_captured()
    marks = [
        values for statement, values in sent if statement.startswith('INSERT INTO "HEADRACE_LIVE"')
    ]
    assert marks == [(1,), (2,)]
    assert sum("CREATE SCHEMA HEADRACE_LIVE" in statement for statement in statements(sent)) == 1


def test_a_test_leaves_nothing(
    live: LiveDatabase, sent: list[tuple[str, tuple[object, ...]]]
) -> None:
    live.create_table("T", "ID INTEGER NOT NULL PRIMARY KEY")
    live.capture.await_captured()
    sent.clear()
    live.close()
    texts = statements(sent)
    for part in ("'CAPSTOP'", 'DELETE FROM "ASNCDC"."IBMSNAP_REGISTER"', "DROP SCHEMA INV RESTRICT",
                 'DROP TABLE "ASNCDC"."CDC_INV_T"', 'DROP TABLE "INV"."T"',
                 "DROP SCHEMA HEADRACE_LIVE RESTRICT"):  # fmt: skip
        assert any(part in text for text in texts), part


@pytest.mark.parametrize(
    "asked",
    [
        lambda live: live.capture.stop(),
        lambda live: live.capture.advance(),
        lambda live: live.capture.prune(b"\x01"),
        lambda live: live.capture.stop_capturing("CDC_INV_T"),
        lambda live: live.server.kill(),
        lambda live: live.server.shut(),
        lambda live: live.server.shut_down("T1"),
    ],
)
def test_tests_of_what_only_the_stand_in_can_do_are_skipped(live: LiveDatabase, asked: Any) -> None:
    with pytest.raises(pytest.skip.Exception, match="a live Db2 cannot be made to"):
        asked(live)


def test_the_connector_gets_the_server_that_is_named(live: LiveDatabase) -> None:
    config = Db2Config.parse(live.properties())
    place = (config.database_hostname, config.database_port, config.database_dbname)
    assert place == ("db2.example.org", 50001, "SAMPLE")
    session = live.connect()
    assert session.dsn.startswith("DATABASE=SAMPLE;HOSTNAME=db2.example.org;PORT=50001;")
    assert config.cdc_control_schema == live.capture.control


def test_the_set_up_is_a_script_that_bash_reads() -> None:
    subprocess.run(["bash", "-n", str(SET_UP)], check=True)
