"""Events have the time of the server in UTC, whatever zone its clock shows, and its name of the
database, whatever the machine of the connector has."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from typing import Any

import pytest

from headrace_demo.db2.derby import DerbyServer
from tests.connectors.db2.reading.test_snapshots import reader, snapshot
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

AHEAD_MS = 2 * 60 * 60 * 1000
"""The time in milliseconds by which the server's clock is ahead of UTC."""
_MINUTES_MS = 10 * 60 * 1000


@pytest.fixture(scope="module")
def ahead(derby_server: DerbyServer) -> Iterator[DerbyServer]:
    """A server whose clock shows UTC+2; skipped where `derby_server` is."""
    with DerbyServer({"user.timezone": "Etc/GMT-2"}) as server:
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


def check_clock(source: dict[str, Any], off_ms: int = 0) -> None:
    """The time is now, but for so much, in all units."""
    assert abs(source["ts_ms"] - time.time_ns() // 1_000_000 - off_ms) < _MINUTES_MS
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


def test_a_server_at_utc_plus_2_has_the_commit_times_of_utc(database: Db2Database) -> None:
    run = reader(database, snapshot_mode="no_data", include_schema_changes="false")
    run.step_until(lambda: len(run.offsets) > 1)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES 7")
    run.step_until(lambda: _created(run))
    run.stop()
    ((marker,),) = database.execute("SELECT MAX(IBMSNAP_LOGMARKER) FROM ASNCDC.IBMSNAP_UOW")
    check_clock({f"ts_{unit}": _since_1970(marker, unit) for unit in ("ms", "us", "ns")}, AHEAD_MS)
    (change,) = _created(run)
    check_clock(change["source"])


def test_the_zone_that_the_configuration_names_is_that_of_commits_and_not_of_rows(
    database: Db2Database,
) -> None:
    more = {
        "headrace_capture_time_zone": "+00:00",
        "table_include_list": rf"{SCHEMA}\.T",
        "include_schema_changes": "false",
    }
    run = reader(database, **more)
    (row,) = snapshot(run)
    check_clock(row["source"])
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES 8")
    run.step_until(lambda: _created(run))
    run.stop()
    (change,) = _created(run)
    check_clock(change["source"], AHEAD_MS)


def test_each_commit_has_the_summer_time_of_its_own_day(database: Db2Database) -> None:
    more = {"headrace_capture_time_zone": "Europe/Berlin", "include_schema_changes": "false"}
    run = reader(database, snapshot_mode="no_data", **more)
    run.step_until(lambda: len(run.offsets) > 1)
    run.stop()
    database.capture.stop()
    local = ("2025-03-30 01:59:59.5", "2025-03-30 03:00:00.5", "2025-10-26 01:59:59.5",
             "2025-10-26 03:00:00.5")  # fmt: skip
    for number in range(len(local)):
        database.execute(f"INSERT INTO {SCHEMA}.T VALUES ({100 + number})")
    database.capture.advance()
    numbers = [lsn for lsn, *_ in database.changes("T")][-len(local) :]
    for lsn, marker in zip(numbers, local, strict=True):
        database.execute(
            f"UPDATE ASNCDC.IBMSNAP_UOW SET IBMSNAP_LOGMARKER = '{marker}' "
            "WHERE IBMSNAP_COMMITSEQ = ?",
            (lsn,),
        )
    run.step_until(lambda: len(_created(run)) == len(local))
    run.stop()
    assert [event["source"]["ts_us"] for event in _created(run)] == [
        _since_1970(dt.datetime.fromisoformat(f"{text}00000"), "us")
        for text in ("2025-03-30 00:59:59.5", "2025-03-30 01:00:00.5", "2025-10-25 23:59:59.5",
                     "2025-10-26 02:00:00.5")
    ]  # fmt: skip


def _created(run: ConnectorReader) -> list[dict[str, Any]]:
    return [event for event in run.events() if event.get("op") == "c"]


def _since_1970(local: dt.datetime, unit: str) -> int:
    """The number of a time without zone, read as UTC."""
    us = (local - dt.datetime.fromisoformat("1970-01-01")) // dt.timedelta(microseconds=1)
    return {"ms": us // 1000, "us": us, "ns": us * 1000}[unit]


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
    (schema_change,) = [event for event in run.events() if "tableChanges" in event]
    assert schema_change["key"] == {"databaseName": database.name}
    assert schema_change["databaseName"] == database.name
    assert f'"databaseName":"{database.name}"' in file.read_text()
    assert schema_change["source"]["db"] == row["source"]["db"] == configured
