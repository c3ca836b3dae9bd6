"""Incremental and blocking snapshots, asked for by rows of the signal table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.connectors.harness import ConnectorReader
from tests.servers.oracle import PDB, OracleDatabase

pytestmark = pytest.mark.oracle
ROWS = 300
EVERY = [(n // 3, f"b{n % 3}") for n in range(ROWS)]


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    """A table with rows, and a signal table."""
    oracle_database.create_table(
        "KEYED",
        "A NUMBER(9,0) NOT NULL",
        "B VARCHAR2(20) NOT NULL",
        "T TIMESTAMP(6)",
        key=["A", "B"],
        rows=[[a, b, "2020-01-01 00:00:00.000001"] for a, b in EVERY],
    )
    oracle_database.create_table(
        "SIGNALS",
        "ID VARCHAR2(42) NOT NULL",
        "TYPE VARCHAR2(32) NOT NULL",
        "DATA VARCHAR2(2048)",
        key=["ID"],
    )
    return oracle_database


def started(database: OracleDatabase, **more: str) -> ConnectorReader:
    """A reader that reads no rows by itself."""
    properties = {
        "snapshot.mode": "no_data",
        "include.schema.changes": "false",
        "signal.data.collection": f"{PDB}.INV.SIGNALS",
        "table.include.list": r"INV\.KEYED",
        "incremental.snapshot.chunk.size": "50",
        "headrace.incremental.snapshot.adaptive": "false",
        "poll.interval.ms": "20",
        "errors.max.retries": "0",
        **{name.replace("_", "."): text for name, text in more.items()},
    }
    run = ConnectorReader(database.properties() | properties)
    return run.step_until(lambda: len(run.offsets) > 1)


def ask(database: OracleDatabase, kind: str = "incremental", **more: Any) -> None:
    data = {"data-collections": [f"{PDB}.INV.KEYED"], "type": kind, **more}
    with database.transaction() as transaction:
        transaction.insert("INV.SIGNALS", ID="s-1", TYPE="execute-snapshot", DATA=json.dumps(data))


def insert(database: OracleDatabase, a: int, b: str) -> None:
    with database.transaction() as transaction:
        transaction.insert("INV.KEYED", A=a, B=b)


def read(run: ConnectorReader) -> list[tuple[int, str]]:
    rows = [event for event in run.events() if event.get("op") == "r"]
    return [(row["after"]["A"], row["after"]["B"]) for row in rows]


def test_rows_are_read_between_marks_while_the_log_continues(database: OracleDatabase) -> None:
    run = started(database)
    ask(database)
    insert(database, 1000, "late")
    run.step_until(lambda: set(EVERY) <= set(read(run)))
    run.stop()
    rows = [event for event in run.events() if event.get("op") == "r"]
    assert {row["source"]["snapshot"] for row in rows} == {"incremental"}
    assert all(row["source"]["scn"] for row in rows)
    marks = [
        event["after"]["TYPE"]
        for event in run.events()
        if event.get("op") == "c" and event["source"]["table"] == "SIGNALS"
    ]
    assert {"snapshot-window-open", "snapshot-window-close"} <= set(marks)
    assert sorted(key for key in set(read(run)) if key[0] < 1000) == EVERY


def test_an_incremental_snapshot_continues_in_another_process(database: OracleDatabase) -> None:
    run = started(database)
    ask(database)
    while not set(EVERY) <= set(read(run)):
        run.step()
        if len(run.offsets) % 3 == 0:
            run.restart()
    run.stop()
    assert sorted(set(read(run))) == EVERY


def test_a_blocking_snapshot_reads_what_its_filter_selects(database: OracleDatabase) -> None:
    run = started(database)
    condition = {"data-collection": f"{PDB}.INV.KEYED", "filter": "A < 10 AND b <> 'b''x'"}
    ask(database, "blocking", **{"additional-conditions": [condition]})
    run.step_until(lambda: len(read(run)) >= 30)
    insert(database, 2000, "later")
    run.step_until(
        lambda: any(e.get("op") == "c" and e["key"].get("A") == 2000 for e in run.events())
    )
    run.stop()
    assert sorted(read(run)) == EVERY[:30]


def test_a_filter_that_is_no_condition_ends_the_table_and_not_the_stream(
    database: OracleDatabase,
) -> None:
    run = started(database)
    condition = {
        "data-collection": f"{PDB}.INV.KEYED",
        "filter": "A IN (SELECT 1 FROM INV.SIGNALS)",
    }
    ask(database, **{"additional-conditions": [condition]})
    insert(database, 2000, "later")
    run.step_until(
        lambda: any(e.get("op") == "c" and e["key"].get("A") == 2000 for e in run.events())
    )
    run.stop()
    assert read(run) == []
