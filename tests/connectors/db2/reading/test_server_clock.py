"""Rows of snapshots have the time and the database name of the server, whatever the machine of the
connector has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace_demo.db2.derby import DerbyServer
from tests.connectors.db2.reading.test_snapshots import reader, snapshot
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

AHEAD_MS = 9 * 60 * 60 * 1000
"""How far the server's clock is ahead, read as UTC."""
_MINUTES_MS = 10 * 60 * 1000


@pytest.fixture(scope="module")
def ahead(derby_server: DerbyServer) -> Iterator[DerbyServer]:
    """A server whose clock is ahead; skipped where `derby_server` is."""
    with DerbyServer({"user.timezone": "Etc/GMT-9"}) as server:
        yield server


@pytest.fixture
def database(ahead: DerbyServer) -> Iterator[Db2Database]:
    created = Db2Database.create(ahead)
    with created.capture:
        created.create_table("T", "ID INTEGER NOT NULL PRIMARY KEY")
        created.create_table(
            "SIGNALS", "ID VARCHAR(42) NOT NULL PRIMARY KEY, TYPE VARCHAR(32) NOT NULL, "
            "DATA VARCHAR(2048)"
        )  # fmt: skip
        created.execute(f"INSERT INTO {SCHEMA}.T VALUES 1")
        yield created
    created.close()


def check_clock(source: dict[str, Any]) -> None:
    """The time is the server's, in all units."""
    assert abs(source["ts_ms"] - time.time_ns() // 1_000_000 - AHEAD_MS) < _MINUTES_MS
    assert source["ts_us"] // 1000 == source["ts_ms"]
    assert source["ts_ns"] // 1000 == source["ts_us"]


def test_rows_of_snapshots_and_changes_have_the_time_of_one_clock(database: Db2Database) -> None:
    more = {"signal_data_collection": f"{SCHEMA}.SIGNALS", "table_include_list": rf"{SCHEMA}\.T"}
    run = reader(database, **more)
    (row,) = snapshot(run)
    check_clock(row["source"])
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES 2")
    database.execute(
        f"INSERT INTO {SCHEMA}.SIGNALS VALUES ('1', 'execute-snapshot', ?)",
        (f'{{"data-collections": ["{SCHEMA}.T"], "type": "incremental"}}',),
    )
    run.step_until(lambda: len(_incremental(run)) == 2)
    run.stop()
    changes = [event for event in run.events() if event.get("op") == "c"]
    (change,) = [event for event in changes if event["source"]["table"] == "T"]
    check_clock(change["source"])
    for event in _incremental(run):
        check_clock(event["source"])


def _incremental(run: ConnectorReader) -> list[dict[str, Any]]:
    return [e for e in run.events() if (e.get("source") or {}).get("snapshot") == "incremental"]


def test_a_commit_without_a_time_of_its_own_has_the_servers(database: Db2Database) -> None:
    run = reader(database, snapshot_mode="no_data", include_schema_changes="false")
    run.step_until(lambda: len(run.offsets) > 1)
    run.stop()
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES 3")
    database.capture.await_captured()
    database.execute("DELETE FROM ASNCDC.IBMSNAP_UOW")
    run.step_until(lambda: [event for event in run.events() if event.get("op") == "c"])
    run.stop()
    check_clock(run.events()[-1]["source"])


def test_schema_changes_have_the_name_of_the_database_as_the_server_has_it(
    database: Db2Database, tmp_path: Any
) -> None:
    file = tmp_path / "history"
    configured = database.name.lower()
    assert configured != database.name
    run = reader(
        database,
        database_dbname=configured,
        table_include_list=rf"{SCHEMA}\.T",
        schema_history_internal_file_filename=str(file),
    )
    (row,) = snapshot(run)
    run.stop()
    (told,) = [event for event in run.events() if "tableChanges" in event]
    assert told["key"] == {"databaseName": database.name}
    assert told["databaseName"] == database.name
    assert f'"databaseName":"{database.name}"' in file.read_text()
    assert told["source"]["db"] == row["source"]["db"] == configured
