"""`headrace support-bundle --workload` on the stand-in for Oracle: its tables and statements,
what of them the bundle shows, and that it drops all tables."""

from __future__ import annotations

import json
import logging
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.cli import main
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.streaming.redo_rows import REDO, SQL_REDO, TABLE_NAME
from headrace.connectors.oracle.support import kit
from headrace.support.archive import read
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

CANARIES = ("CANARY_TABLE", "CANARY_COLUMN", "canary value 4711", "canary default")
# The questions of headrace.connectors.oracle.support.open_questions that the workload answers.
ANSWERED = (*(f"O{number}" for number in range(6, 23)), "altered", "lobs", "savepoints")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "bundle.zip"


def run(file: Path, bundle: Path, *more: str) -> int:
    arguments = ["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]
    return main([*arguments, "--workload", *more])


def workload_tables(database: OracleDatabase) -> list[str]:
    return [table for table in database.server.call("table_names") if sql.KIT in table]


def answers(bundle: Path) -> dict[str, Any]:
    with zipfile.ZipFile(bundle) as archive:
        questions = json.loads(archive.read("questions.json"))
    return {name: question["answer"] for name, question in questions.items()}


def redo(bundle: Path, name: str = "workload.arrow") -> pa.Table:
    with zipfile.ZipFile(bundle) as archive, pa.ipc.open_stream(archive.read(name)) as rows:
        return rows.read_all()


def test_the_workload_answers_its_questions_and_leaves_no_table(
    oracle_database: OracleDatabase, file: Path, bundle: Path
) -> None:
    assert run(file, bundle) == 0
    assert workload_tables(oracle_database) == []
    assert redo(bundle).schema == REDO
    bundle_answers = answers(bundle)
    assert sorted(bundle_answers) == sorted(ANSWERED)
    assert bundle_answers["O21"] == {"redo": 0, "workload": 0}, (
        "rows whose SCN is less than the last one"
    )
    invisible = [row[-1] for row in bundle_answers["O15"]["INVISIBLES"]["rows"]]
    assert any("values ('1','seen','not seen')" in statement for statement in invisible)
    taken_back = [row for row in bundle_answers["savepoints"]["SAVEPOINTS"]["rows"] if row[1]]
    assert taken_back, "rows with ROLLBACK = 1"
    assert any("loc_c" in row[-1] for row in bundle_answers["lobs"]["LOBS"]["rows"])
    assert any("buf_c := 'small'" in row[-1] for row in bundle_answers["lobs"]["LOBS"]["rows"])
    _, records = read(bundle)
    (facts,) = (record["facts"] for record in records if record["name"] == "workload")
    assert facts["parts"] > 0, "SQL_REDO of more than one row"


def test_a_type_that_the_server_lacks_is_recorded_as_a_refused_statement(
    file: Path, bundle: Path
) -> None:
    assert run(file, bundle) == 0
    objects = answers(bundle)["O6"]["OBJECTS"]
    assert objects == {"rows": [], "refused": [{"code": 902, "full_code": "ORA-00902"}]}


def test_the_workload_shows_its_own_values_but_no_other_name_or_value_and_no_login(
    oracle_database: OracleDatabase, file: Path, bundle: Path
) -> None:
    # A table of another schema, whose name begins as the workload's do.
    oracle_database.create_table("CANARY_SCHEMA.HEADRACE_KIT_TEXTS", "ID NUMBER(9,0) NOT NULL")
    canary = "canary value 4711"
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.CANARY_TABLE", ID=1, CANARY_COLUMN=canary)
    assert run(file, bundle) == 0
    with zipfile.ZipFile(bundle) as archive:
        text = "\n".join(
            archive.read(name).decode("utf-8", "replace") for name in archive.namelist()
        ).lower()
    properties = oracle_database.properties()
    hidden = [properties[name] for name in ("database.password", "database.user")]
    for word in (*CANARIES, *hidden, "CANARY_SCHEMA", "INV."):
        assert word.lower() not in text
    rows = redo(bundle)
    names = set(rows.column(TABLE_NAME).to_pylist()) - {None}
    assert names <= kit.NAMES
    statements = " ".join(filter(None, rows.column(SQL_REDO).to_pylist()))
    assert "it''s" in statements, "a value of the workload"


def test_a_dry_run_lists_every_statement_of_the_workload_and_sends_none(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = oracle_database.server.call("counted")
    assert run(file, bundle, "--dry-run") == 0
    listed = set(capsys.readouterr().out.splitlines())
    assert oracle_database.server.call("counted") == before
    sent: list[str] = []
    rows = Connection.rows

    def recording(self: Connection, statement: str, *more: Any) -> Any:
        sent.append(statement)
        return rows(self, statement, *more)

    monkeypatch.setattr(Connection, "rows", recording)
    assert run(file, bundle) == 0
    workload_statements = [
        statement for statement in sent if sql.KIT in statement or "headrace_kit" in statement
    ]
    assert len(workload_statements) > 150
    assert {f"{statement};" for statement in workload_statements} <= listed


def test_without_the_option_no_statement_of_the_workload_is_sent(
    oracle_database: OracleDatabase, file: Path, bundle: Path
) -> None:
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    sent = oracle_database.server.call("counted")
    assert [name for name in sent if name.startswith("kit_")] == []


def test_a_table_that_is_there_already_refuses_the_workload_and_stays(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    existing_table = f"{oracle_database.properties()['database.user']}.HEADRACE_KIT_LOBS"
    oracle_database.create_table(existing_table, "ID NUMBER(9,0) NOT NULL")
    assert run(file, bundle) != 0
    assert (
        "where tables with these names already exist: HEADRACE_KIT_LOBS" in capsys.readouterr().err
    )
    assert workload_tables(oracle_database) == [existing_table]
    assert bundle.exists()  # statements that only read were recorded before


def test_a_user_without_the_right_to_make_tables_gets_that_error(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    oracle_database.change(privileges=["CREATE SESSION", "LOGMINING"])
    assert run(file, bundle) != 0
    error_text = " ".join(capsys.readouterr().err.split())
    assert "--workload cannot make its tables in the schema of database.user" in error_text
    assert "insufficient privileges" in error_text
    assert bundle.exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("broken")])
@pytest.mark.parametrize("at", ["CREATE TABLE HEADRACE_KIT_LOBS", "DELETE FROM", "START_LOGMNR"])
def test_tables_are_dropped_after_an_interruption_wherever_it_comes(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    at: str,
) -> None:
    """The server runs the statement, but the client gets an exception instead of the answer.
    KeyboardInterrupt ends the workload; another error is recorded, and the workload goes on."""
    rows, raised = Connection.rows, []

    def interrupted(self: Connection, statement: str, *more: Any) -> Any:
        answer = rows(self, statement, *more)
        if at in statement and workload_tables(oracle_database):
            raised.append(statement)
            raise error
        return answer

    monkeypatch.setattr(Connection, "rows", interrupted)
    status = run(file, bundle)
    assert raised
    assert workload_tables(oracle_database) == []
    _, records = read(bundle)
    classes = [record["error"].get("class") for record in records if "error" in record]
    if isinstance(error, KeyboardInterrupt):
        assert status == 130
        assert "RuntimeError" not in classes
    else:
        assert status == 0
        assert classes.count("RuntimeError") == len(raised)


def test_what_cannot_be_dropped_is_named_with_its_statements(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    oracle_database.server.apply([{"error": 54, "when": "DROP TABLE"}])
    with caplog.at_level(logging.WARNING):
        assert run(file, bundle) == 0
    (left,) = workload_tables(oracle_database)
    name = left.rpartition(".")[2]
    assert f"DROP TABLE {name} CASCADE CONSTRAINTS PURGE;" in caplog.text
