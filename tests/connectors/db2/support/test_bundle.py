"""`headrace support-bundle` on the stand-in for Db2: what it asks, and what it keeps."""

from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from headrace.cli import main
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.support.open_questions import rows_of
from headrace.support.archive import read
from headrace_demo.db2.derby import DerbyServer
from tests.cli.first_steps.configurations import written
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

_NAME = re.compile(r'"INV"\."\w+"|"ASNCDC"\."CDC_\w+"')
_WITHOUT_DRIVER = """
import sys
sys.modules["ibm_db"] = None
from headrace.cli import main
sys.exit(main())
"""
CANARIES = ("CANARY_TABLE", "CANARY_COLUMN", "canary value 4711", "canary default")


def columns_of(database: Db2Database, table: str) -> list[str]:
    rows = database.execute(
        "SELECT COLUMNNAME FROM SYS.SYSCOLUMNS C, SYS.SYSTABLES T WHERE C.REFERENCEID = T.TABLEID "
        f"AND TABLENAME = '{table}'"
    )
    return [name for (name,) in rows]


def test_a_bundle_has_answers_and_no_name_value_password_or_host(
    db2_database: Db2Database, file: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    manifest, records = read(bundle)
    assert manifest["connector"] == "db2"
    assert manifest["driver"].startswith("ibm_db ")
    by_name = {record["name"]: record for record in records}
    assert by_name["time_zone"]["row_count"] == 1
    assert by_name["registrations"]["row_count"] == 1
    assert by_name["changes"]["row_count"] == 1
    (change,) = by_name["changes"]["rows"]
    assert [cell[0] for cell in change[:3]] == ["bytes", "bytes", "str"]
    assert change[3] == ["int"], "of a value of a column the type only"
    ((synchpoint,),) = by_name["newest_lsn"]["rows"]
    assert bytes.fromhex(synchpoint[1]) in {
        change[0] for change in db2_database.changes("CANARY_TABLE")
    }
    with zipfile.ZipFile(bundle) as archive:
        text = "\n".join(archive.read(name).decode() for name in archive.namelist())
    hidden = [db2_database.properties()[name] for name in ("database.password", "database.user")]
    for canary in (*CANARIES, *hidden, "47.11"):
        assert canary.lower() not in text.lower()


def test_what_the_server_refuses_is_recorded_by_its_code(file: Path, tmp_path: Path) -> None:
    """The stand-in has no SYSIBMADM.DBCFG."""
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    _, records = read(bundle)
    (settings,) = (record for record in records if record["name"] == "settings")
    assert settings["error"]["state"]


def test_a_dry_run_lists_every_statement_that_is_sent(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["support-bundle", str(file), "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = {line for line in lines if line and not line.startswith("--")}
    bundle = tmp_path / "bundle.zip"
    assert not bundle.exists()
    sent: set[str] = set()
    prepared = Connection._run

    def kept(self: Connection, statement: str, *more: Any) -> Any:
        sent.add(statement)
        return prepared(self, statement, *more)

    monkeypatch.setattr(Connection, "_run", kept)
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    unlisted = {statement for statement in sent if f"{statement};" not in listed}
    change_table, table = sorted(unlisted)
    for path, name in ((change_table, "change_table"), (table, "table")):
        assert f"{_NAME.sub(f'{{{name}}}', path)};" in listed
    assert "CDC_INV_CANARY_TABLE" in change_table
    assert len(sent) > 10


def test_a_dry_run_needs_no_driver(file: Path) -> None:
    command = [sys.executable, "-c", _WITHOUT_DRIVER, "support-bundle", str(file), "--dry-run"]
    listed = subprocess.run([*command, "--workload"], capture_output=True, text=True, check=True)
    assert "CURRENT TIMEZONE AS SERVER_ZONE" in listed.stdout
    assert "CREATE SCHEMA HEADRACE_KIT;" in listed.stdout
    command.remove("--dry-run")
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "connectors.no_driver" in ended.stderr


def test_the_servers_clock_is_shown(tmp_path: Path) -> None:
    """Two hours ahead of UTC: a DECIMAL, of which the driver makes a text."""
    with DerbyServer({"user.timezone": "Etc/GMT-2"}) as server:
        database = Db2Database.create(server)
        database.capture.start()
        try:
            database.create_table("T", "ID INTEGER NOT NULL PRIMARY KEY")
            file = written(tmp_path / "pipeline.properties", database.properties())
            bundle = tmp_path / "bundle.zip"
            options = ["--output", str(bundle), "--seconds", "0.1"]
            assert main(["support-bundle", str(file), *options]) == 0
        finally:
            database.close()
    with zipfile.ZipFile(bundle) as archive:
        clocks = json.loads(archive.read("questions.json"))["D1"]["answer"]
    for row in (*clocks["server"], *clocks["progress"]):
        assert float(row["SERVER_ZONE"]) == 20000
        assert dt.datetime.fromisoformat(row["SERVER_TIME"])
    assert len(clocks["progress"]) == 2


def test_names_of_the_sites_subscriptions_are_numbers_and_codes_of_registrations_are_shown(
    db2_database: Db2Database, file: Path, tmp_path: Path
) -> None:
    names = {"TARGET_SERVER": "CANARY1", "TARGET_OWNER": "CANARY2", "TARGET_TABLE": "CANARY3",
             "APPLY_QUAL": "CANARY4", "SET_NAME": "CANARY5", "CNTL_SERVER": "CANARY6"}  # fmt: skip
    for table in ("IBMSNAP_PRUNCNTL", "IBMSNAP_PRUNE_SET"):
        present = set(columns_of(db2_database, table))
        assignments = ", ".join(
            f"{name} = '{value}'" for name, value in names.items() if name in present
        )
        db2_database.execute(f"UPDATE ASNCDC.{table} SET {assignments}")
    codes = {"STATE_INFO": "ASN0073E", "STOP_ON_ERROR": "N", "OPTION_FLAGS": "NNYN"}
    assignments = ", ".join(f"{name} = '{value}'" for name, value in codes.items())
    db2_database.execute(f"UPDATE ASNCDC.IBMSNAP_REGISTER SET {assignments}")
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    _, records = read(bundle)
    assert "CANARY" not in str(records).upper()
    (subscribed,), (of_set, *_) = rows_of(records, "pruning"), rows_of(records, "prune_sets")
    assert names.keys() <= subscribed.keys()
    for name in names:
        assert subscribed[name].startswith("NAME_"), name
    for name in ("TARGET_SERVER", "APPLY_QUAL", "SET_NAME"):
        assert of_set[name] == subscribed[name], "one name has one number"
    registered = rows_of(records, "register")
    assert registered
    for row in registered:
        assert {name: row[name] for name in codes} == codes
