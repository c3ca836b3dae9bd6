"""`headrace support-bundle` on the stand-in for Oracle: what it asks, and what it keeps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.cli import main
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.connectors.oracle.support.redo import redo_facts
from headrace.support.archive import read
from headrace_demo.oracle.driver import OracleConnection
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

_SLOT = re.compile(r"\\\{\w+\\\}")
"""A slot of a listed statement, as a regular expression."""
_WITHOUT_DRIVER = """
import sys
sys.modules["oracledb"] = None
from headrace.cli import main
sys.exit(main())
"""
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


def run(file: Path, bundle: Path) -> int:
    return main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"])


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
    assert run(file, bundle) == 0
    manifest, records = read(bundle)
    assert manifest["connector"] == "oracle"
    by_name = {record["name"]: record for record in records}
    assert by_name["database"]["row_count"] == 1
    assert by_name["start_logmnr"].get("error") is None
    assert by_name["columns"]["row_count"] == 2
    types = [described[0] for described in by_name["columns"]["columns"]].index("DATA_TYPE")
    assert {row[types][1] for row in by_name["columns"]["rows"]} == {"NUMBER", "VARCHAR2"}
    for clock in ("clock", "time_of_scn"):
        ((time_of,),) = by_name[clock]["rows"]
        assert time_of[1].startswith("2024-01-"), "the stand-in's time, and no mask of it"
    properties = oracle_database.properties()
    text = texts_of(bundle)
    hidden = [properties[name] for name in ("database.password", "database.user")]
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
    (insert,) = (
        statement
        for statement in table.column("SQL_REDO").to_pylist()
        if statement and "insert" in statement
    )
    assert insert.startswith('insert into "NAME_')
    assert not any(canary in insert for canary in CANARIES)
    assert questions["O21"]["answer"] == {"redo": 0, "workload": None}
    assert questions["O20"]["answer"] == {"redo": 0, "workload": None}
    assert questions["O22"]["answer"]["server"] == ["Oracle Database 19c Enterprise Edition"]
    assert questions["lobs"]["answer"] is None, "there is no workload"
    # The stand-in forgets formats when a session goes to another container.
    *_, after_a_switch = questions["O19"]["answer"]["after_a_switch"]
    assert after_a_switch["NLS_DATE_FORMAT"] == "DD-MON-RR"


def answers_of(bundle: Path) -> dict[str, Any]:
    with zipfile.ZipFile(bundle) as archive:
        questions = json.loads(archive.read("questions.json"))
    return {name: question["answer"] for name, question in questions.items()}


def test_a_bundle_says_how_the_server_is_set_up_without_a_workload(
    oracle_database: OracleDatabase, file: Path, tmp_path: Path
) -> None:
    oracle_database.server.apply([{"switch": 1}])
    oracle_database.change(hidden_views=["V$THREAD"])
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    bundle_answers = answers_of(bundle)
    assert bundle_answers["O7"]["is_thin"] is True
    assert bundle_answers["O7"]["arrow"] == [None], "redo is read as the stream reads it"
    assert bundle_answers["O8"] == {"is_container_database": ["YES"], "refused": []}
    assert {answer["name"] for answer in bundle_answers["O9"]["refused"]} == {
        "threads",
        "whole_view",
    }
    assert bundle_answers["O10"]["listed"] > 0
    assert bundle_answers["O10"]["destinations"].keys() == {"1"}
    assert bundle_answers["O10"]["states"].keys() == {"A"}
    assert bundle_answers["O10"]["nameless"] == 0
    assert bundle_answers["O11"]["largest_log"]
    assert bundle_answers["O12"]["contents_seconds"] > 0
    assert bundle_answers["O13"]["captured"] == 1
    assert bundle_answers["O13"]["seconds"]["table_ddl"] is not None
    assert bundle_answers["O14"] == {"captured": 1, "refused": []}
    assert bundle_answers["O16"]["redo"]["unsupported"] == 0
    assert "LOGMINING" in bundle_answers["O17"]["privileges"]


def test_rows_that_logminer_does_not_support_and_open_transactions_are_counted(
    oracle_database: OracleDatabase, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    still_open = oracle_database.server.begin()
    still_open.insert("INV.CANARY_TABLE", ID=1)
    main_thread, pause = threading.main_thread(), time.sleep

    def change(seconds: float) -> None:
        if threading.current_thread() is not main_thread:
            pause(seconds)
            return
        row = {"table": "INV.CANARY_TABLE", "xid": "0900010001000000"}
        unsupported = {"redo": "UNSUPPORTED", "sql": "Unsupported", "status": 2, **row}
        oracle_database.server.apply([unsupported | {"info": "Object or Data type Unsupported"}])

    monkeypatch.setattr("headrace.connectors.oracle.support.plan.time.sleep", change)
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle)]) == 0
    still_open.rollback()
    bundle_answers = answers_of(bundle)
    assert bundle_answers["O16"]["redo"]["unsupported"] == 1
    assert bundle_answers["O16"]["workload"] == {"rows": None, "unsupported": None}
    (transaction,) = bundle_answers["O12"]["open"]
    assert transaction["START_SCN"] < bundle_answers["O12"]["scn"][0]["CURRENT_SCN"]


def test_a_dry_run_lists_every_statement_and_sends_none(
    oracle_database: OracleDatabase,
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list has other names in place of some: of the container, and of the columns, table and
    condition of a read."""
    before = oracle_database.server.call("counted")
    assert main(["support-bundle", str(file), "--dry-run"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert oracle_database.server.call("counted") == before
    sent: set[str] = set()
    ask = OracleConnection.ask

    def kept(self: OracleConnection, method: str, *arguments: Any) -> Any:
        if method == "execute":
            sent.add(arguments[0])
        return ask(self, method, *arguments)

    monkeypatch.setattr(OracleConnection, "ask", kept)
    assert run(file, tmp_path / "b.zip") == 0
    patterns = [
        re.compile(_SLOT.sub(".*", re.escape(line.removesuffix(";"))), re.DOTALL)
        for line in listed
        if line and not line.startswith("--")
    ]
    assert len(sent) > 30
    assert [
        statement for statement in sent if not any(each.fullmatch(statement) for each in patterns)
    ] == []
    for words in ("SET NLS_DATE_FORMAT", "SET TIME_ZONE", "START_LOGMNR", "SET CONTAINER"):
        assert any(words in statement for statement in sent), words
    writing = ("INSERT", "UPDATE", "DELETE", "CREATE", "DROP")
    assert [statement for statement in sent if statement.startswith(writing)] == []


def test_a_dry_run_needs_no_driver(file: Path) -> None:
    text = file.read_text().replace("driver.module=headrace_demo.oracle.driver", "")
    file.write_text(text)
    command = [
        sys.executable,
        "-c",
        _WITHOUT_DRIVER,
        "support-bundle",
        str(file),
        "--dry-run",
        "--workload",
    ]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "V$LOGMNR_CONTENTS" in listed
    assert "CREATE TABLE HEADRACE_KIT_LOBS" in listed


def test_what_the_server_refuses_is_recorded_by_its_code(
    oracle_database: OracleDatabase, file: Path, tmp_path: Path
) -> None:
    oracle_database.change(hidden_views=["V$THREAD"])
    bundle = tmp_path / "bundle.zip"
    assert run(file, bundle) == 0
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
