"""`headrace support-bundle --workload` on the stand-in for Db2: what it makes, what of it is shown,
and that nothing is left over. The stand-in registers no tables by SQL: its Capture program does it
where a test says so."""

from __future__ import annotations

import json
import logging
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.connectors.db2.checks.replication import reinitialize
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.support import workload
from headrace.connectors.db2.support.kit import SCHEMA, Kit
from headrace.connectors.db2.support.plan import support_plan
from headrace.errors import HeadraceError
from headrace.support.archive import read
from tests.connectors.db2.support.registered import registered_by_capture
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

PROPERTIES = {"topic.prefix": "s", "database.hostname": "h", "database.dbname": "d",
              "database.user": "u", "database.password": "p"}  # fmt: skip
CANARIES = ("CANARY_TABLE", "CANARY_COLUMN", "canary value 4711", "canary default")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "bundle.zip"


@pytest.fixture
def registers(db2_database: Db2Database) -> Iterator[None]:
    """Tables of the workload are registered by the stand-in's Capture program."""
    with registered_by_capture(db2_database):
        yield


def run(file: Path, bundle: Path, *more: str) -> int:
    arguments = ["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]
    return main([*arguments, "--workload", *more])


def is_clean(database: Db2Database) -> bool:
    query = f"SELECT 1 FROM SYS.SYSSCHEMAS WHERE SCHEMANAME = '{SCHEMA}'"
    rows = database.execute(
        f"SELECT 1 FROM ASNCDC.IBMSNAP_REGISTER WHERE SOURCE_OWNER = '{SCHEMA}'"
    )
    return not database.execute(query) and not rows


def answers(bundle: Path) -> dict[str, Any]:
    with zipfile.ZipFile(bundle) as archive:
        questions = json.loads(archive.read("questions.json"))
    return {name: question["answer"] for name, question in questions.items()}


@pytest.mark.usefixtures("registers")
def test_the_workload_answers_open_questions_and_leaves_nothing(
    db2_database: Db2Database, file: Path, bundle: Path
) -> None:
    assert run(file, bundle) == 0
    assert is_clean(db2_database)
    bundle_answers = answers(bundle)
    changed = bundle_answers["capstart"]["with_signal"]
    assert [row["IBMSNAP_OPERATION"] for row in changed] == ["I", "D", "I", "D", "I", "I", "D"]
    assert changed[0]["T"] == "it's é"
    (registered,) = (
        row
        for row in bundle_answers["capstart"]["registrations"]
        if row["SOURCE_TABLE"] == "CHANGES"
    )
    assert registered["STATE"] == "A"
    assert [row["B"] for row in bundle_answers["expression_columns"]] == [42, 42, 44]
    units = bundle_answers["D1"]["workload"]
    assert units
    assert {"IBMSNAP_LOGMARKER", "SERVER_TIME", "SERVER_ZONE"} <= set(units[0])
    assert {float(row["SERVER_ZONE"]) for row in units} == {0}


def test_what_the_server_refuses_is_recorded_and_nothing_is_left(
    db2_database: Db2Database, file: Path, bundle: Path
) -> None:
    """The stand-in has no DATA CAPTURE, DECFLOAT and ASNCDCSERVICES."""
    assert run(file, bundle) == 0
    assert is_clean(db2_database)
    refused = {(answer["name"], answer["place"].rpartition(" ")[2]) for answer in
               answers(bundle)["capstart"]["refused"]}  # fmt: skip
    assert {("kit_register", "CHANGES"), ("kit_table", "KINDS")} <= refused


@pytest.mark.usefixtures("registers")
def test_the_workload_shows_its_own_values_and_no_name_value_password_or_host(
    db2_database: Db2Database, file: Path, bundle: Path
) -> None:
    assert run(file, bundle) == 0
    with zipfile.ZipFile(bundle) as archive:
        text = "\n".join(archive.read(name).decode() for name in archive.namelist())
    assert "it's é" in text
    hidden = [db2_database.properties()[name] for name in ("database.password", "database.user")]
    for canary in (*CANARIES, *hidden):
        assert canary.lower() not in text.lower()


@pytest.mark.usefixtures("registers")
def test_a_dry_run_lists_every_statement_of_the_workload_and_sends_none(
    db2_database: Db2Database,
    file: Path,
    bundle: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(file, bundle, "--dry-run") == 0
    listed = set(capsys.readouterr().out.splitlines())
    assert is_clean(db2_database)
    sent: list[str] = []
    rows = Connection.rows

    def kept(self: Connection, statement: str, *more: Any) -> Any:
        sent.append(statement)
        return rows(self, statement, *more)

    monkeypatch.setattr(Connection, "rows", kept)
    assert run(file, bundle) == 0
    workload_statements = [statement for statement in sent if SCHEMA in statement]
    assert len(workload_statements) > 15
    assert any(statement.startswith("SELECT COUNT(*)") for statement in workload_statements), (
        "it waits for Capture"
    )
    assert {
        statement for statement in workload_statements if f"{statement};" not in listed
    } == set()
    assert f"DROP SCHEMA {SCHEMA} RESTRICT;" in listed


def test_capture_reads_its_registrations_again_by_what_remedies_name() -> None:
    config = Db2Config.parse(PROPERTIES)
    assert f"{Kit(config).again().text};" == reinitialize(config)


def test_each_registration_is_taken_back_by_what_removes_it() -> None:
    registration = Kit(Db2Config.parse(PROPERTIES)).registration("LARGE")
    texts = [statement.text for statement in registration.statements]
    assert texts[0] == f'ALTER TABLE "{SCHEMA}"."LARGE" DATA CAPTURE CHANGES'
    assert any("SOURCE.*" in text for text in texts), "with the columns of large values"
    assert "SET STOP_ON_ERROR = 'N'" in texts[-1], "Capture goes on with everybody's tables"
    undone = " ".join(statement.text for statement in registration.undo)
    for part in ("IBMSNAP_PRUNCNTL", "IBMSNAP_REGISTER", "DROP TABLE", "DATA CAPTURE NONE"):
        assert part in undone


def test_a_schema_that_is_there_already_refuses_the_workload_and_stays(
    db2_database: Db2Database, file: Path, bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db2_database.execute(f"CREATE SCHEMA {SCHEMA}")
    db2_database.execute(f"CREATE TABLE {SCHEMA}.CHANGES (ID INTEGER)")
    assert run(file, bundle) != 0
    assert f"where tables with these names already exist: {SCHEMA}" in capsys.readouterr().err
    assert db2_database.execute(f"SELECT COUNT(*) FROM {SCHEMA}.CHANGES") == [(0,)]
    assert bundle.exists()  # what only reads was recorded before


def test_a_user_without_the_right_to_make_the_schema_gets_that_error(
    file: Path,
    bundle: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = Connection.rows

    def refused(self: Connection, statement: str, *more: Any) -> Any:
        if statement.startswith("CREATE SCHEMA"):
            raise DriverError("SQL0552N  no privilege  SQLSTATE=42502 SQLCODE=-552")
        return rows(self, statement, *more)

    monkeypatch.setattr(Connection, "rows", refused)
    assert run(file, bundle) != 0
    error_text = " ".join(capsys.readouterr().err.split())
    assert f"--workload cannot make its tables in the schema {SCHEMA}" in error_text
    assert "DBADM" in error_text
    assert bundle.exists()


def test_zos_is_refused_before_anything_is_sent(file: Path, bundle: Path) -> None:
    config = Db2Config.parse(
        {
            **dict(line.split("=", 1) for line in file.read_text().splitlines()),
            "db2.platform": "ZOS",
        }
    )
    workload_plan = support_plan(config).workload
    with pytest.raises(HeadraceError, match=r"db2\.platform is ZOS"):
        list(workload_plan.ask(None, 0.1))  # type: ignore[arg-type]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("broken")])
@pytest.mark.parametrize(
    "at", [f'CREATE TABLE "{SCHEMA}"."LARGE"', "DELETE FROM", "VALUES (1, 'one')", "CREATE SCHEMA"]
)
def test_all_is_dropped_after_an_interruption_wherever_it_comes(
    db2_database: Db2Database,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    at: str,
) -> None:
    """The statement is run, and nobody hears of it. An error of the driver is recorded, and the
    workload goes on, if it has its schema."""
    rows, raised = Connection.rows, []

    def interrupted(self: Connection, statement: str, *more: Any) -> Any:
        answer = rows(self, statement, *more)
        if at in statement:
            raised.append(statement)
            raise error
        return answer

    monkeypatch.setattr(Connection, "rows", interrupted)
    if at == "CREATE SCHEMA" and isinstance(error, RuntimeError):
        with pytest.raises(RuntimeError):
            run(file, bundle)
    else:
        assert run(file, bundle) == (130 if isinstance(error, KeyboardInterrupt) else 0)
    assert raised
    assert is_clean(db2_database)
    _, records = read(bundle)
    classes = [record["error"].get("class") for record in records if "error" in record]
    assert classes.count("RuntimeError") == isinstance(error, RuntimeError) * len(raised)


_LOST = "SQL30081N  A communication error has been detected.  SQLSTATE=08001 SQLCODE=-30081"


@pytest.mark.parametrize("at", ["commit", "rows", "connect"])
def test_a_connection_that_is_lost_while_all_is_dropped_names_what_is_left(
    db2_database: Db2Database,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    at: str,
) -> None:
    taking_back, connect = workload._taking_back, workload.connect

    def lost(*_: Any, **__: Any) -> Any:
        raise DriverError(_LOST)

    @contextmanager
    def taken_back(*arguments: Any) -> Iterator[Callable[[str], bool]]:
        with monkeypatch.context() as patched:
            if at == "connect":
                error = HeadraceError("db2.connection_lost", "lost", "remedy")
                patched.setattr(workload, "connect", lambda *_: (_ for _ in ()).throw(error))
            else:
                patched.setattr(Connection, at, lost)
            with taking_back(*arguments) as send:
                yield send

    monkeypatch.setattr(workload, "_taking_back", taken_back)
    with caplog.at_level(logging.WARNING):
        assert run(file, bundle) == 0
    assert f'DROP TABLE "{SCHEMA}"."CHANGES";' in caplog.text
    assert f"DROP SCHEMA {SCHEMA} RESTRICT;" in caplog.text
    _, records = read(bundle)
    assert "capture_progress" in {record["name"] for record in records}
    lost_at = [
        record["error"]["code"] for record in records if record["name"].startswith("kit_drop")
    ]
    assert lost_at == ([] if at == "connect" else [-30081]), "nothing is sent to what is lost"
    assert workload.connect is connect


@pytest.mark.parametrize("at", ["SELECT SERVICE_LEVEL", "CREATE TABLE", "INSERT INTO"])
def test_a_connection_that_is_lost_leaves_what_was_recorded(
    db2_database: Db2Database,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    at: str,
) -> None:
    prepared, committed, ended = Connection._run, Connection.commit, []

    def lost(self: Connection, statement: str, *more: Any) -> Any:
        if self in ended or (not ended and at in statement):
            ended.append(self)
            raise DriverError(_LOST)
        return prepared(self, statement, *more)

    def commit(self: Connection) -> None:
        if self in ended:
            raise DriverError(_LOST)
        committed(self)

    monkeypatch.setattr(Connection, "_run", lost)
    monkeypatch.setattr(Connection, "commit", commit)
    monkeypatch.setattr(Connection, "rollback", lambda self: None)
    assert run(file, bundle) == 1
    assert len(set(ended)) == 1
    assert "db2.connection_lost" in capsys.readouterr().err
    _, records = read(bundle)
    unreachable = [record for record in records if record.get("error", {}).get("code") == -30081]
    assert len(unreachable) == 1
    assert is_clean(db2_database)


def test_what_cannot_be_dropped_is_named_with_its_statements(
    db2_database: Db2Database,
    file: Path,
    bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = Connection.rows

    def held(self: Connection, statement: str, *more: Any) -> Any:
        if statement == f'DROP TABLE "{SCHEMA}"."CHANGES"':
            raise DriverError("SQL0911N  a lock  SQLSTATE=40001 SQLCODE=-911")
        return rows(self, statement, *more)

    monkeypatch.setattr(Connection, "rows", held)
    with caplog.at_level(logging.WARNING):
        assert run(file, bundle) == 0
    expected = f'DROP TABLE "{SCHEMA}"."CHANGES"; DROP SCHEMA {SCHEMA} RESTRICT;'
    assert expected in caplog.text
    _, records = read(bundle)
    assert [record["name"] for record in records if "error" in record][-2:] == [
        "kit_drop",
        "kit_drop_schema",
    ]
