"""Errors of every statement of snapshots and of mining, and tables that are altered meanwhile: what
is tried again, and what is read under a later SCN."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headrace.errors import HeadraceError
from tests.connectors.harness import ConnectorReader
from tests.servers.oracle import PDB, OracleDatabase

pytestmark = pytest.mark.oracle
ROWS = 60
KEYED = [[number, f"row {number}"] for number in range(ROWS)]
KEYLESS = [["one"], ["two"]]
_SMALL = {
    "headrace.snapshot.chunk.bytes": "1024",
    "poll.interval.ms": "20",
    "errors.max.retries": "0",
    "skipped.operations": "none",
}
_ATTEMPTS = 12
"""Starts after which a test gives up: none of these errors comes more often."""


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    """A table with a key, one without, and a signal table."""
    oracle_database.create_table(
        "KEYED", "ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(40)", key=["ID"], rows=KEYED
    )
    oracle_database.create_table("KEYLESS", "T VARCHAR2(20)", rows=KEYLESS)
    oracle_database.create_table(
        "SIGNALS",
        "ID VARCHAR2(42) NOT NULL",
        "TYPE VARCHAR2(32) NOT NULL",
        "DATA VARCHAR2(2048)",
        key=["ID"],
    )
    return oracle_database


class Supervised:
    """A reader that is started again after each error that may be tried again, as a supervisor
    starts a query again. `codes` are those of the errors."""

    def __init__(self, database: OracleDatabase, **more: str) -> None:
        tables = r"INV\.KEYED,INV\.KEYLESS"
        properties = {"table.include.list": tables, "include.schema.changes": "false", **_SMALL}
        named = {name.replace("_", "."): text for name, text in more.items()}
        self.reader = ConnectorReader(database.properties() | properties | named)
        self.codes: list[str] = []

    def until(self, condition: Callable[[], Any]) -> None:
        while not condition():
            try:
                self.reader.step_until(condition)
            except HeadraceError as error:
                if not error.retriable or len(self.codes) == _ATTEMPTS:
                    raise
                self.codes.append(error.code)
                self.reader.restart()

    def snapshot(self) -> None:
        self.until(lambda: "epoch" in self._last and "snapshot" not in self._last)

    @property
    def _last(self) -> dict[str, Any]:
        return self.reader.offsets[-1]

    def events(self) -> list[dict[str, Any]]:
        """The events of the snapshot's last attempt, and of the stream."""
        events = [event for event in self.reader.events() if event.get("op")]
        last = max((event["sequence"][:4] for event in events), default="")
        return [event for event in events if event["sequence"].startswith(last)]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows that a snapshot read."""
        return [
            event["after"]
            for event in self.events()
            if event["op"] == "r" and event["source"]["table"] == table
        ]

    def state(self) -> dict[int, dict[str, Any]]:
        """The table with a key as its events rebuild it."""
        state: dict[int, dict[str, Any]] = {}
        for event in self.events():
            if event["source"]["table"] != "KEYED":
                continue
            if event["op"] == "t":
                state.clear()
            elif event["after"] is None:
                state.pop(event["key"]["ID"], None)
            else:
                state[event["key"]["ID"]] = event["after"]
        return state

    def stop(self) -> None:
        self.reader.stop()


LOCKED, GONE = (54, 4021), (1466, 1555)


def cells(statements: Mapping[str, str]) -> list[Any]:
    """Every statement with every code; one code of each statement is in the default run."""
    codes = (*LOCKED, *GONE)
    return [
        pytest.param(
            statement,
            code,
            marks=() if number % len(codes) == place else pytest.mark.chaos,
            id=f"{statement}-{code}",
        )
        for number, statement in enumerate(statements)
        for place, code in enumerate(codes)
    ]


SNAPSHOT_STATEMENTS = {
    "lock": "LOCK TABLE",
    "SCN": "SELECT CURRENT_SCN",
    "time of the SCN": "SCN_TO_TIMESTAMP",
    "open transactions": "V$TRANSACTION",
    "tables": "ALL_TABLES",
    "structures": "ALL_TAB_COLS",
    "statement of a table": "GET_DDL",
    "probe, bounds or rows": 'FROM "INV"."KEYED" AS OF SCN',
    "rows without key": 'FROM "INV"."KEYLESS" AS OF SCN',
    "fetching": "FETCH",
}


@pytest.mark.parametrize(("statement", "code"), cells(SNAPSHOT_STATEMENTS))
def test_an_error_of_any_statement_of_a_snapshot_loses_no_row(
    database: OracleDatabase, statement: str, code: int
) -> None:
    when = SNAPSHOT_STATEMENTS[statement]
    database.server.apply([{"error": code, "when": when, "times": 1}])
    run = Supervised(database)
    run.snapshot()
    with database.transaction() as transaction:
        transaction.update("INV.KEYED", {"ID": 7}, NAME="later")
        transaction.insert("INV.KEYED", ID=ROWS, NAME="new")
    run.until(lambda: ROWS in run.state())
    run.stop()
    assert sorted(row["ID"] for row in run.rows("KEYED")) == list(range(ROWS))
    assert [row["T"] for row in run.rows("KEYLESS")] == ["one", "two"]
    assert run.state()[7]["NAME"] == "later"
    assert len(run.codes) <= 2


MINING_STATEMENTS = {
    "character sets": "NLS_DATABASE_PARAMETERS",
    "structures": "ALL_TAB_COLS",
    "clock": "SYSTIMESTAMP",
    "flush": 'UPDATE "LOG_MINING_FLUSH"',
    "threads": "V$THREAD",
    "archived logs": "V$ARCHIVED_LOG",
    "online logs": "V$LOG ",
    "adding a log": "ADD_LOGFILE",
    "starting": "START_LOGMNR",
    "contents": "V$LOGMNR_CONTENTS",
    "fetching": "FETCH_REDO",
}


@pytest.mark.parametrize(("statement", "code"), cells(MINING_STATEMENTS))
def test_an_error_of_any_statement_of_mining_loses_no_change(
    database: OracleDatabase, statement: str, code: int
) -> None:
    run = Supervised(database, snapshot_mode="no_data")
    run.snapshot()
    for number in range(3):
        if number == 1:
            when = MINING_STATEMENTS[statement]
            database.server.apply([{"error": code, "when": when, "times": 1}])
            run.reader.restart()
        with database.transaction() as transaction:
            transaction.insert("INV.KEYED", ID=ROWS + number, NAME="new")
        run.until(lambda count=number + 1: len(run.state()) == count)
    run.stop()
    inserted = [event["key"]["ID"] for event in run.events() if event["op"] == "c"]
    assert inserted == [ROWS, ROWS + 1, ROWS + 2]
    assert len(run.codes) <= 1


INCREMENTAL_STATEMENTS = {
    "marks": 'INSERT INTO "INV"."SIGNALS"',
    "structures": "ALL_TAB_COLS",
    "SCN": "SELECT CURRENT_SCN",
    "rows": 'FROM "INV"."KEYED" AS OF SCN',
}


def signalled(database: OracleDatabase, **more: str) -> Supervised:
    """A stream in which an incremental snapshot was asked for."""
    run = Supervised(
        database,
        snapshot_mode="no_data",
        signal_data_collection=f"{PDB}.INV.SIGNALS",
        incremental_snapshot_chunk_size="25",
        headrace_incremental_snapshot_adaptive="false",
        **more,
    )
    run.snapshot()
    data = {"data-collections": [f"{PDB}.INV.KEYED"], "type": "incremental"}
    with database.transaction() as transaction:
        transaction.insert("INV.SIGNALS", ID="s-1", TYPE="execute-snapshot", DATA=json.dumps(data))
    return run


@pytest.mark.parametrize(("statement", "code"), cells(INCREMENTAL_STATEMENTS))
def test_an_error_of_any_statement_of_an_incremental_snapshot_loses_no_row(
    database: OracleDatabase, statement: str, code: int
) -> None:
    run = signalled(database)
    when = INCREMENTAL_STATEMENTS[statement]
    database.server.apply([{"error": code, "when": when, "times": 1}])
    with database.transaction() as transaction:
        transaction.delete("INV.KEYED", ID=7)
        transaction.insert("INV.KEYED", ID=ROWS, NAME="new")
    expected = {*range(ROWS + 1)} - {7}
    run.until(lambda: set(run.state()) == expected)
    run.stop()
    assert len(run.codes) <= 2


ALTERATIONS = {
    "ADD": "ALTER TABLE INV.{table} ADD (EXTRA VARCHAR2(9) DEFAULT 'x')",
    "DROP": "ALTER TABLE INV.{table} DROP COLUMN {column}",
    "RENAME": "ALTER TABLE INV.{table} RENAME COLUMN {column} TO OTHER",
    "TRUNCATE": "TRUNCATE TABLE INV.{table}",
    "DROP TABLE": "DROP TABLE INV.{table}",
}
_MOMENTS = ("before the first chunk", "after a chunk was cut", "between chunks")


@pytest.mark.parametrize(
    ("alteration", "moment"),
    [
        pytest.param(
            alteration,
            moment,
            marks=() if number % len(_MOMENTS) == place else pytest.mark.chaos,
            id=f"{alteration} {moment}",
        )
        for number, alteration in enumerate(ALTERATIONS)
        for place, moment in enumerate(_MOMENTS)
    ],
)
def test_a_table_that_is_altered_during_the_snapshot_ends_as_it_is(
    database: OracleDatabase, alteration: str, moment: str
) -> None:
    run = Supervised(database)
    reader = run.reader
    if moment == "before the first chunk":
        run.until(lambda: "snapshot" in run.reader.offsets[-1])
    else:
        run.until(lambda: reader.offsets[-1].get("snapshot", {}).get("chunks"))
    end = reader.plan()
    database.server.ddl(ALTERATIONS[alteration].format(table="KEYED", column="NAME"))
    if moment == "after a chunk was cut":
        try:
            reader.records += reader.read(end)
            reader.offsets.append(end)
        except HeadraceError as error:
            assert error.retriable  # noqa: PT017 (whether it fails depends on the alteration)
            reader.restart()
    run.snapshot()
    if alteration != "DROP TABLE":
        with database.transaction() as transaction:
            transaction.insert("INV.KEYED", ID=ROWS)
        run.until(lambda: ROWS in run.state())
    run.stop()
    if alteration == "DROP TABLE":
        assert set(run.state()) <= {*range(ROWS)}
    else:
        expected = {ROWS} if alteration == "TRUNCATE" else {*range(ROWS + 1)}
        assert set(run.state()) == expected
    assert [row["T"] for row in run.rows("KEYLESS")] == ["one", "two"]
