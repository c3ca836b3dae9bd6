"""`headrace support-bundle` on the stand-in for Oracle: what it asks, and what it keeps."""

from __future__ import annotations

import json
import threading
import time
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.cli import main
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.connectors.oracle.support.redo import redo_facts
from headrace.support.archive import read
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

CANARIES = (
    "CANARY_TABLE",
    "CANARY_COLUMN",
    "canary value 4711",
    "canary default",
    "canary comment",
)


def _insert(database: OracleDatabase, **values: object) -> None:
    with database.transaction() as transaction:
        transaction.insert("INV.CANARY_TABLE", **values)


def texts_of(bundle: Path) -> str:
    with zipfile.ZipFile(bundle) as archive:
        return "\n".join(
            archive.read(name).decode("utf-8", "replace") for name in archive.namelist()
        )


def test_a_bundle_has_answers_and_no_name_value_password_or_host(
    oracle_database: OracleDatabase, file: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.zip"
    _insert(oracle_database, ID=1, CANARY_COLUMN="canary value 4711")
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    manifest, records = read(bundle)
    assert manifest["connector"] == "oracle"
    by_name = {record["name"]: record for record in records}
    assert by_name["database"]["row_count"] == 1
    assert by_name["start_logmnr"].get("error") is None
    assert by_name["columns"]["row_count"] == 2
    properties = oracle_database.properties()
    text = texts_of(bundle)
    hidden = [properties[one] for one in ("database.password", "database.user")]
    for canary in (*CANARIES, *hidden, "INV."):
        assert canary not in text
        assert canary.lower() not in text.lower()


def test_redo_that_came_meanwhile_is_in_it_masked(
    oracle_database: OracleDatabase, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause, main_thread = time.sleep, threading.main_thread()

    def change(seconds: float) -> None:
        # Other threads of this process sleep, too.
        if threading.current_thread() is not main_thread:
            pause(seconds)
            return
        _insert(oracle_database, ID=7, CANARY_COLUMN="canary value 4711")

    monkeypatch.setattr("headrace.connectors.oracle.support.plan.time.sleep", change)
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle)]) == 0
    with zipfile.ZipFile(bundle) as archive, pa.ipc.open_stream(archive.read("redo.arrow")) as redo:
        table = redo.read_all()
        questions = json.loads(archive.read("questions.json"))
    assert table.schema == REDO
    (insert,) = (one for one in table.column("SQL_REDO").to_pylist() if one and "insert" in one)
    assert insert.startswith('insert into "NAME_')
    assert not any(canary in insert for canary in CANARIES)
    assert questions["O21"]["answer"] == {"redo": 0, "workload": None}
    assert questions["O20"]["answer"] == {"redo": 0, "workload": None}
    assert questions["O22"]["answer"]["server"] == ["Oracle Database 19c Enterprise Edition"]
    assert questions["lobs"]["answer"] is None, "there is no workload"
    # The stand-in forgets formats when a session goes to another container.
    *_, after_a_switch = questions["O19"]["answer"]["after_a_switch"]
    assert after_a_switch["NLS_DATE_FORMAT"] == "DD-MON-RR"


def test_a_dry_run_lists_every_statement_and_sends_none(
    oracle_database: OracleDatabase, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = oracle_database.server.call("counted")
    assert main(["support-bundle", str(file), "--dry-run"]) == 0
    listed = capsys.readouterr().out
    assert oracle_database.server.call("counted") == before
    assert (
        main(["support-bundle", str(file), "--seconds", "0.1", "--output", str(tmp_path / "b.zip")])
        == 0
    )
    sent = {
        name
        for name, count in oracle_database.server.call("counted").items()
        if count > before.get(name, 0)
    }
    session = {"session_formats", "session_time_zone"}
    assert {name for name in sent - session if f"-- {name} (" not in listed} == set()
    writing = {
        one.name
        for one in sql.STATEMENTS
        if one.text.split()[0] in ("INSERT", "UPDATE", "DELETE", "CREATE")
    }
    assert sent & writing == set()


def test_what_the_server_refuses_is_recorded_by_its_code(
    oracle_database: OracleDatabase, file: Path, tmp_path: Path
) -> None:
    oracle_database.change(hidden_views=["V$THREAD"])
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    _, records = read(bundle)
    refused = [record for record in records if record["name"] == "threads"]
    assert {record["error"]["code"] for record in refused} == {942}


def test_facts_of_redo_count_falling_scns_and_characters_that_are_cut() -> None:
    text = "é".encode()
    rows = {
        "SCN": pa.array([5, 4, 6], pa.int64()),
        "CSF": pa.array([1, 0, 0], pa.int64()),
        "SQL_REDO": pa.array([b"a" + text[:1], text[1:], b"b"], pa.large_binary()),
        "OPERATION_CODE": pa.array([1, 1, 7], pa.int64()),
    }
    facts = redo_facts(pa.table(rows))
    assert facts["falling_scns"] == 1
    assert facts["cut_characters"] == 1
    assert facts["operations"] == {"1": 2, "7": 1}
