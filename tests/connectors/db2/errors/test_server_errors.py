"""Locks, deadlocks and tables in a pending state, at each statement of the connector: it is tried
again, or the error says what is wrong; nothing is lost, doubled or waited for without end."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import ibm_db
import pytest

from headrace.connectors.db2 import connection as driver_module
from headrace.errors import HeadraceError
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

_DRIVER = "[IBM][CLI Driver][DB2/LINUXX8664] "
_ROLLED_BACK = (
    "SQL0911N  The current transaction has been rolled back because of a deadlock or timeout.  "
    'Reason code "{}".  SQLSTATE=40001 SQLCODE=-911'
)
DEADLOCK, TIMEOUT = _ROLLED_BACK.format(2), _ROLLED_BACK.format(68)
REORG = (
    'SQL0668N  Operation not allowed for reason code "7" on table "INV.KEYED".  '
    "SQLSTATE=57007 SQLCODE=-668"
)
ROWS = 300
EVERY = [(n // 3, f"b{n % 3}") for n in range(ROWS)]
STATEMENTS = (
    "SELECT MAX(T.SYNCHPOINT)",
    "SYNCHTIME, CURRENT TIMESTAMP",
    "SELECT CURRENT TIMESTAMP",
    "SELECT SOURCE_OWNER",
    "WITH CS",
    "WITH UR",
    'SELECT "A", "B", "T" FROM "INV"."KEYED"',
    'SELECT "T" FROM "INV"."KEYLESS"',
    'FROM "ASNCDC"."CDC_INV_KEYED" WHERE IBMSNAP_COMMITSEQ >=',
    "IBMSNAP_LOGMARKER",
    'FROM "INV"."KEYED" "t" WHERE ("t"."A" = # AND',
    "tables",
    "columns INV KEYED",
    "columns ASNCDC CDC_INV_KEYED",
    "primary_keys INV KEYED",
    "statistics INV KEYED",
)
"""Statements, and functions of the driver on the catalogue, that must have failed."""
WATERMARK = 'INSERT INTO "INV"."SIGNALS"'
"""A statement without rows."""


@dataclass
class FailingDriver:
    """IBM's driver, which raises what it raises where the server refuses: each statement fails the
    first time, when it is run or (`fetches`) when its first rows are fetched."""

    error: str
    fetches: bool = False
    failed: list[str] = field(default_factory=list)
    _statements: dict[int, tuple[str, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __getattr__(self, name: str) -> Any:
        if name in ("tables", "columns", "primary_keys", "statistics"):
            return self._of_catalogue(name)
        if name in ("fetchmany", "fetchall", "fetch_assoc"):
            return self._fetching(name)
        return getattr(ibm_db, name)

    def prepare(self, handle: Any, sql: str, options: Any) -> Any:
        statement = ibm_db.prepare(handle, sql, options)
        self._statements[id(statement)] = (sql, handle)
        return statement

    def execute(self, statement: Any, values: Any) -> Any:
        if not self.fetches:
            self._fail(*self._statements[id(statement)])
        return ibm_db.execute(statement, values)

    def _of_catalogue(self, name: str) -> Callable[..., Any]:
        def asked(handle: Any, *arguments: Any) -> Any:
            call_text = " ".join(
                (name, *(argument for argument in arguments if isinstance(argument, str)))
            )
            if not self.fetches:
                self._fail(call_text, handle)
            statement = getattr(ibm_db, name)(handle, *arguments)
            self._statements[id(statement)] = (call_text, handle)
            return statement

        return asked

    def _fetching(self, name: str) -> Callable[..., Any]:
        def fetched(statement: Any, *arguments: Any) -> Any:
            if self.fetches:
                self._fail(*self._statements[id(statement)])
            return getattr(ibm_db, name)(statement, *arguments)

        return fetched

    def _fail(self, call_text: str, handle: Any) -> None:
        shape = re.sub(r"\b\d+\b", "#", re.sub(r"'(?:[^']|'')*'", "#", call_text))
        with self._lock:
            if shape in self.failed:
                return
            self.failed.append(shape)
        if "SQL0911N" in self.error:
            ibm_db.rollback(handle)  # the server did
        raise Exception(_DRIVER + self.error)


@dataclass
class Restarted(ConnectorReader):
    """A query that is started again when an error ends it which may pass."""

    errors: list[HeadraceError] = field(default_factory=list)

    def step(self, seconds: float = 0.1) -> bool:
        try:
            return super().step(seconds)
        except HeadraceError as error:
            if not error.retriable:
                raise
            self.errors.append(error)
            self.restart()
            return True


@pytest.fixture
def database(db2_database: Db2Database) -> Db2Database:
    db2_database.create_table(
        "KEYED", "A INTEGER NOT NULL, B VARCHAR(20) NOT NULL, T VARCHAR(9), PRIMARY KEY (A, B)"
    )
    db2_database.create_table("KEYLESS", "T VARCHAR(20)")
    db2_database.create_table(
        "SIGNALS",
        "ID VARCHAR(42) NOT NULL PRIMARY KEY, TYPE VARCHAR(32) NOT NULL, DATA VARCHAR(2048)",
    )
    rows = ", ".join(f"({a}, '{b}', 'text')" for a, b in EVERY)
    db2_database.execute(f"INSERT INTO INV.KEYED VALUES {rows}")
    db2_database.execute("INSERT INTO INV.KEYLESS VALUES ('one'), ('two')")
    db2_database.capture.await_captured()
    return db2_database


def properties(database: Db2Database, retries: int) -> dict[str, str]:
    return database.properties() | {
        "table.include.list": r"INV\.KEY.*",
        "signal.data.collection": "INV.SIGNALS",
        "headrace.snapshot.chunk.bytes": "4096",
        "incremental.snapshot.chunk.size": "100",
        "headrace.incremental.snapshot.adaptive": "false",
        "poll.interval.ms": "20",
        "errors.max.retries": str(retries),
        "retriable.restart.connector.wait.ms": "1",
        "post.processors": "again",
        "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
        "again.reselect.columns.include.list": r"INV\.KEYED:T",
        "again.reselect.error.handling.mode": "fail",
    }


@pytest.mark.parametrize(
    ("error", "fetches", "retries"),
    [
        (TIMEOUT, False, -1),
        pytest.param(TIMEOUT, False, 0, marks=pytest.mark.chaos),
        pytest.param(DEADLOCK, True, -1, marks=pytest.mark.chaos),
        pytest.param(REORG, False, -1, marks=pytest.mark.chaos),
    ],
)
def test_every_statement_may_fail_once(
    database: Db2Database, monkeypatch: pytest.MonkeyPatch, error: str, fetches: bool, retries: int
) -> None:
    driver = FailingDriver(error, fetches)
    monkeypatch.setattr(driver_module, "ibm_db", driver)
    run = Restarted(properties(database, retries))
    run.step_until(lambda: "epoch" in run.offsets[-1] and "snapshot" not in run.offsets[-1])
    assert sorted(_keys(run, "r")) == EVERY
    assert sorted(_texts(run)) == ["one", "two"]

    with database.transaction() as execute:
        execute("INSERT INTO INV.KEYED VALUES (1000, 'new', 'text')", ())
        execute("UPDATE INV.KEYED SET A = 1001 WHERE A = 1000", ())
        execute("INSERT INTO INV.KEYED VALUES (2000, 'read again', NULL)", ())
    database.execute("DELETE FROM INV.KEYED WHERE A = 0 AND B = 'b0'")
    run.step_until(lambda: len(_changes(run)) >= 5)
    assert _changes(run) == [
        ("c", (1000, "new")),
        ("d", (1000, "new")),
        ("c", (1001, "new")),
        ("c", (2000, "read again")),
        ("d", (0, "b0")),
    ]

    data = json.dumps({"data-collections": ["INV.KEYED"], "type": "incremental"})
    database.execute("INSERT INTO INV.SIGNALS VALUES ('s-1', 'execute-snapshot', ?)", (data,))
    rest = sorted({*EVERY, (1001, "new"), (2000, "read again")} - {(0, "b0")})
    run.step_until(lambda: set(rest) <= set(_keys(run, "r", "incremental")))
    run.stop()
    assert sorted(_keys(run, "r", "incremental")) == rest
    assert len(_changes(run)) == 5

    expected = "db2.lock_timeout" if "SQL0911N" in error else "db2.table_not_accessible"
    wrong = [
        error for error in run.errors if error.code not in (expected, "relational.reselect_failed")
    ]
    assert not wrong
    assert all(error.split()[0] in raised.message for raised in run.errors)
    assert bool(run.errors) or retries
    statements = STATEMENTS if fetches else (*STATEMENTS, WATERMARK)
    missing = [
        statement
        for statement in statements
        if not any(statement in shape for shape in driver.failed)
    ]
    assert not missing, (missing, driver.failed)


def _keys(run: ConnectorReader, operation: str, marker: str = "") -> list[tuple[int, str]]:
    return [
        (event["after"]["A"], event["after"]["B"])
        for event in run.events()
        if event.get("op") == operation
        and event["source"]["table"] == "KEYED"
        and (event["source"]["snapshot"] == "incremental") == (marker == "incremental")
    ]


def _texts(run: ConnectorReader) -> list[str]:
    rows = [event for event in run.events() if event.get("op") == "r"]
    return [row["after"]["T"] for row in rows if row["source"]["table"] == "KEYLESS"]


def _changes(run: ConnectorReader) -> list[tuple[str, tuple[int, str]]]:
    return [
        (event["op"], (row["A"], row["B"]))
        for event in run.events()
        if event.get("op") in ("c", "u", "d") and event["source"]["table"] == "KEYED"
        for row in [event["after"] or event["before"]]
    ]
