"""`headrace support-bundle` on the stand-in for Db2: what it asks, and what it keeps."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.support.archive import read
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

CANARIES = ("CANARY_TABLE", "CANARY_COLUMN", "canary value 4711", "canary default")


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
    with zipfile.ZipFile(bundle) as archive:
        text = "\n".join(archive.read(name).decode() for name in archive.namelist())
    hidden = [db2_database.properties()[one] for one in ("database.password", "database.user")]
    for canary in (*CANARIES, *hidden, "47.11"):
        assert canary.lower() not in text.lower()


def test_what_the_server_refuses_is_recorded_by_its_code(file: Path, tmp_path: Path) -> None:
    """The stand-in has no SYSIBMADM.DBCFG."""
    bundle = tmp_path / "bundle.zip"
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    _, records = read(bundle)
    (settings,) = (record for record in records if record["name"] == "settings")
    assert settings["error"]["state"]


def test_a_dry_run_lists_every_statement_that_is_recorded(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["support-bundle", str(file), "--dry-run"]) == 0
    listed = capsys.readouterr().out
    bundle = tmp_path / "bundle.zip"
    assert not bundle.exists()
    assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
    _, records = read(bundle)
    names = {record["name"] for record in records if "facts" not in record}
    assert {name for name in names if f"-- {name}" not in listed} == set()
