"""Failures while a support bundle of Oracle is recorded are in it, and remove nothing that was
recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.connectors.oracle.connection import Connection
from headrace.support.archive import read
from headrace_demo.oracle import driver
from tests.cli.first_steps.configurations import written
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "bundle.zip"


def run(file: Path, bundle: Path, *more: str) -> int:
    arguments = ["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]
    return main([*arguments, *more])


def of_name(bundle: Path, name: str) -> list[Mapping[str, Any]]:
    _, records = read(bundle)
    return [record for record in records if record["name"] == name]


def kits(database: OracleDatabase) -> list[str]:
    return [table for table in database.server.call("table_names") if "HEADRACE_KIT" in table]


@pytest.mark.parametrize("at", ["START_LOGMNR", "ADD_LOGFILE", "FROM V$THREAD"])
def test_a_session_that_dies_leaves_what_was_recorded_and_the_catalogue_is_asked(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    at: str,
) -> None:
    ask, ended = driver.OracleConnection.ask, [0]

    def dying(self: driver.OracleConnection, method: str, *arguments: Any) -> Any:
        if method == "execute" and at in arguments[0] and not ended[0]:
            ended[0] = oracle_database.server.call("end_sessions")
        return ask(self, method, *arguments)

    monkeypatch.setattr(driver.OracleConnection, "ask", dying)
    assert run(file, bundle) == 1
    assert ended == [1]
    error_output = capsys.readouterr().err
    assert "oracle.connection_lost" in error_output
    assert f"{bundle}: " in error_output
    _, records = read(bundle)
    errors = [record["error"] for record in records if "error" in record]
    assert errors == [{"code": 0, "full_code": "DPY-4011"}], "nothing is sent to what is lost"
    assert [record["row_count"] for record in records if record["name"] == "columns"] == [2]
    assert of_name(bundle, "rows")


@pytest.mark.parametrize("name", ["LOG_ARCHIVE_DEST_9", None])
def test_without_a_valid_destination_online_logs_are_mined(
    oracle_database: OracleDatabase,
    tmp_path: Path,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str | None,
) -> None:
    """None: the only one is not set."""
    more = {} if name is None else {"archive.destination.name": name}
    written(file, oracle_database.properties() | more)
    if name is None:
        rows = Connection.rows

        def not_set(self: Connection, statement: str, *binds: Any) -> Any:
            log_rows = rows(self, statement, *binds)
            if "FROM V$ARCHIVE_DEST_STATUS ORDER" not in statement:
                return log_rows
            return [(*row[:2], "INACTIVE", *row[3:]) for row in log_rows]

        monkeypatch.setattr(Connection, "rows", not_set)
    assert run(file, bundle) == 0
    notes = of_name(bundle, "destination")
    assert notes
    for note in notes:
        error = {"class": "HeadraceError", "code": "oracle.no_archive_destination"}
        assert note["facts"]["error"] == error
    assert of_name(bundle, "redo")


@pytest.mark.parametrize("strategy", ["redo_log_catalog", "online_catalog"])
def test_logs_are_mined_with_the_dictionary_of_the_database_whatever_the_stream_takes(
    oracle_database: OracleDatabase, file: Path, bundle: Path, strategy: str
) -> None:
    """No log has a dictionary: ORA-01371."""
    written(file, oracle_database.properties() | {"log.mining.strategy": strategy})
    assert run(file, bundle, "--workload") == 0
    started = of_name(bundle, "start_logmnr")
    assert len(started) == 2
    assert [answer for answer in started if "error" in answer] == []
    with zipfile.ZipFile(bundle) as archive:
        assert {"redo.arrow", "workload.arrow"} <= set(archive.namelist())


def test_a_workload_whose_redo_is_cut_within_characters_says_so(
    oracle_database: OracleDatabase, file: Path, bundle: Path
) -> None:
    oracle_database.change(most_bytes=100, cuts_characters=True)
    assert run(file, bundle, "--workload") == 0
    assert kits(oracle_database) == []
    *_, contents = of_name(bundle, "contents")
    # As the driver reads rows, which may raise an error for such a text.
    assert "UnicodeDecodeError" in contents.get("error", {"class": "UnicodeDecodeError"}).values()
    with zipfile.ZipFile(bundle) as archive:
        assert "workload.arrow" in archive.namelist()
        answers = json.loads(archive.read("questions.json"))
    assert answers["O20"]["answer"]["workload"] > 0


@pytest.mark.parametrize(
    ("column", "error"),
    [
        ("CANARY_COLUMN", ValueError("year -4712 is out of range")),
        ("SQL_REDO", UnicodeDecodeError("utf-8", b"\xc3", 0, 1, "unexpected end of data")),
    ],
)
def test_a_value_that_the_driver_cannot_make_is_recorded_by_the_class_of_its_error(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    column: str,
    error: Exception,
) -> None:
    """A date before Christ, as Python's have no such years; a text that is cut within a
    character."""
    fetchmany = driver.Cursor.fetchmany

    def impossible(self: driver.Cursor, size: int | None = None) -> list[tuple[Any, ...]]:
        if column in [described[0] for described in self.description or ()]:
            raise error
        return fetchmany(self, size)

    monkeypatch.setattr(driver.Cursor, "fetchmany", impossible)
    assert run(file, bundle, "--workload") == 0
    assert kits(oracle_database) == []
    records = of_name(bundle, "contents" if column == "SQL_REDO" else "rows")
    assert records
    for record in records:
        assert type(error).__name__ in record["error"].values()
    with zipfile.ZipFile(bundle) as archive:
        assert {"redo.arrow", "workload.arrow"} <= set(archive.namelist())


def test_tables_are_described_by_what_was_recorded_of_them(
    oracle_database: OracleDatabase, file: Path, bundle: Path
) -> None:
    assert run(file, bundle) == 0
    assert oracle_database.sent("tables") == 1
    assert oracle_database.sent("columns") == 1


def test_a_container_that_may_not_be_entered_is_not_taken_for_entered(
    oracle_database: OracleDatabase,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered: list[str] = []
    rows = Connection.rows

    def kept(self: Connection, statement: str, *binds: Any) -> Any:
        entered.append(self.container)
        return rows(self, statement, *binds)

    monkeypatch.setattr(Connection, "rows", kept)
    oracle_database.change(root_error=1031)
    assert run(file, bundle) == 0
    assert "CDB$ROOT" not in entered
    refused, *_ = of_name(bundle, "set_container")
    assert refused["error"]["code"] == 1031
    assert of_name(bundle, "columns"), "the tables' container is another one"


def test_tables_of_another_container_are_not_described_in_its_place(
    oracle_database: OracleDatabase, file: Path, bundle: Path
) -> None:
    oracle_database.server.apply([{"error": 1031, "when": 'SET CONTAINER = "', "times": 9}])
    assert run(file, bundle) == 0
    assert [
        record["error"]["code"] for record in of_name(bundle, "set_container") if "error" in record
    ] == [1031]
    assert of_name(bundle, "tables") == []


_HUNG_UP = """
import os, signal, sys
from headrace.cli import main
from headrace.connectors.oracle.connection import Connection
rows = Connection.rows
def hung_up(self, statement, *binds):
    answer = rows(self, statement, *binds)
    if statement.startswith("DELETE FROM HEADRACE_KIT_"):
        os.kill(os.getpid(), signal.SIGHUP)
    return answer
Connection.rows = hung_up
sys.exit(main())
"""


@pytest.mark.parametrize("is_nohup", [False, True])
def test_a_terminal_that_goes_leaves_no_table(
    oracle_database: OracleDatabase, file: Path, bundle: Path, is_nohup: bool
) -> None:
    arguments = [str(file), "--output", str(bundle), "--seconds", "0.1", "--workload"]
    handling = signal.SIG_IGN if is_nohup else signal.SIG_DFL
    ended = subprocess.run(
        [sys.executable, "-c", _HUNG_UP, "support-bundle", *arguments],
        env=os.environ,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, handling),
        check=False,
    )
    assert ended.returncode == (0 if is_nohup else 128 + signal.SIGHUP)
    assert kits(oracle_database) == []
    assert of_name(bundle, "kit_drop")
    assert oracle_database.sent("kit_delete") >= 1
    assert bool(of_name(bundle, "workload")) == is_nohup
