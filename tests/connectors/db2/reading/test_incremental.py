"""Incremental and blocking snapshots, asked for by rows of the signal table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2
ROWS = 300
_COLUMNS = "A INTEGER NOT NULL, B VARCHAR(20) NOT NULL, T TIMESTAMP, PRIMARY KEY (A, B)"
_SIGNALS = "ID VARCHAR(42) NOT NULL PRIMARY KEY, TYPE VARCHAR(32) NOT NULL, DATA VARCHAR(2048)"
_STAMP = "TIMESTAMP('2020-01-01 00:00:00.000001')"


def prepare(database: Db2Database) -> None:
    """A table with rows, and a signal table."""
    database.create_table("KEYED", _COLUMNS)
    database.create_table("SIGNALS", _SIGNALS)
    rows = ", ".join(f"({n // 3}, 'b{n % 3}', {_STAMP})" for n in range(ROWS))
    database.execute(f"INSERT INTO INV.KEYED VALUES {rows}")
    database.capture.await_captured()


@pytest.fixture
def database(db2_prepared: Callable[[Callable[[Db2Database], None]], Db2Database]) -> Db2Database:
    return db2_prepared(prepare)


def started(database: Db2Database, **more: str) -> ConnectorReader:
    """A reader that reads no rows by itself."""
    properties = {
        "snapshot.mode": "no_data",
        "include.schema.changes": "false",
        "signal.data.collection": "INV.SIGNALS",
        "table.include.list": r"INV\.KEYED",
        "incremental.snapshot.chunk.size": "50",
        "headrace.incremental.snapshot.adaptive": "false",
        "poll.interval.ms": "20",
        "errors.max.retries": "0",
        **{name.replace("_", "."): text for name, text in more.items()},
    }
    run = ConnectorReader(database.properties() | properties)
    return run.step_until(lambda: len(run.offsets) > 1)


def ask(database: Db2Database, kind: str = "incremental", **more: Any) -> None:
    data = {"data-collections": ["INV.KEYED"], "type": kind, **more}
    signal = ("execute-snapshot", json.dumps(data))
    database.execute("INSERT INTO INV.SIGNALS VALUES ('s-1', ?, ?)", signal)


def read(run: ConnectorReader) -> list[tuple[int, str]]:
    rows = [event for event in run.events() if event.get("op") == "r"]
    return [(row["after"]["A"], row["after"]["B"]) for row in rows]


EVERY = [(n // 3, f"b{n % 3}") for n in range(ROWS)]


def test_rows_are_read_between_marks_while_the_log_continues(database: Db2Database) -> None:
    run = started(database)
    ask(database)
    database.execute("INSERT INTO INV.KEYED VALUES (1000, 'late', NULL)")
    run.step_until(lambda: set(EVERY) <= set(read(run)))
    run.stop()
    rows = [event for event in run.events() if event.get("op") == "r"]
    assert {row["source"]["snapshot"] for row in rows} == {"incremental"}
    assert all(row["source"]["commit_lsn"] for row in rows)
    marks = [
        event["after"]["TYPE"]
        for event in run.events()
        if event.get("op") == "c" and event["source"]["table"] == "SIGNALS"
    ]
    assert {"snapshot-window-open", "snapshot-window-close"} <= set(marks)
    assert sorted(key for key in set(read(run)) if key[0] < 1000) == EVERY


def test_an_incremental_snapshot_continues_in_another_process(database: Db2Database) -> None:
    run = started(database)
    ask(database)
    while not set(EVERY) <= set(read(run)):
        run.step()
        if len(run.offsets) % 3 == 0:
            run.restart()
    run.stop()
    assert sorted(set(read(run))) == EVERY


@pytest.mark.parametrize("restarted", [False, True], ids=["goes on", "killed"])
def test_a_key_that_changes_between_chunks_has_its_table_read_again(
    database: Db2Database, restarted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    run = started(database)
    ask(database)
    database.execute("INSERT INTO INV.SIGNALS VALUES ('s-2', 'pause-snapshot', NULL)")
    run.step_until(lambda: "paused" in run.offsets[-1].get("signals", {}) and read(run))
    if restarted:
        run.restart()
    database.execute("ALTER TABLE INV.KEYED DROP PRIMARY KEY")
    database.execute("ALTER TABLE INV.KEYED ADD PRIMARY KEY (B, A)")
    database.execute("INSERT INTO INV.SIGNALS VALUES ('s-3', 'resume-snapshot', NULL)")
    run.step_until(lambda: "tables" not in run.offsets[-1].get("signals", {}))
    run.stop()
    assert sorted(set(read(run))) == EVERY
    assert "INV.KEYED or its key was changed" in caplog.text


def test_a_blocking_snapshot_reads_what_its_filter_selects(database: Db2Database) -> None:
    run = started(database)
    condition = {"data-collection": "INV.KEYED", "filter": "A < 10 AND b <> 'b''x'"}
    ask(database, "blocking", **{"additional-conditions": [condition]})
    run.step_until(lambda: len(read(run)) >= 30)
    database.execute("INSERT INTO INV.KEYED VALUES (2000, 'later', NULL)")
    run.step_until(
        lambda: any(e.get("op") == "c" and e["key"].get("A") == 2000 for e in run.events())
    )
    run.stop()
    assert sorted(read(run)) == EVERY[:30]


def test_a_filter_that_is_no_condition_ends_the_table_and_not_the_stream(
    database: Db2Database,
) -> None:
    run = started(database)
    condition = {"data-collection": "INV.KEYED", "filter": "A IN (SELECT 1 FROM INV.SIGNALS)"}
    ask(database, **{"additional-conditions": [condition]})
    database.execute("INSERT INTO INV.KEYED VALUES (2000, 'later', NULL)")
    run.step_until(
        lambda: any(e.get("op") == "c" and e["key"].get("A") == 2000 for e in run.events())
    )
    run.stop()
    assert read(run) == []
