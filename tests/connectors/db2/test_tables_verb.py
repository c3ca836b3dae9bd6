"""headrace db2 add-table and remove-table."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli import main
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import registrations
from headrace.connectors.db2.checks.database import check
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import connect
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2


@pytest.fixture
def file(db2_database: Db2Database, tmp_path: Path) -> Path:
    """A configuration of a database with the table INV.THINGS, which is not registered."""
    db2_database.create_table("THINGS", "ID INTEGER NOT NULL PRIMARY KEY", captured=False)
    file = tmp_path / "db2.properties"
    properties = db2_database.properties()
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    return file


def test_a_table_is_registered_and_removed_when_told_to(
    db2_database: Db2Database, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Db2Config.parse(db2_database.properties())

    def verb(action: str, *more: str) -> str:
        words = ["db2", action, str(file), "INV.THINGS", "--keep-data-capture", *more]
        assert main(words) == 0
        return capsys.readouterr().out

    def registered() -> list[str]:
        with connect(config) as connection:
            return [one.change_table for one in registrations(connection, config)]

    printed = verb("add-table")
    assert registered() == []
    assert "VALUES \"ASNCDC\".ASNCDCSERVICES('reinit','asncdc');" in printed
    ran = verb("add-table", "--run")
    assert "-- done" in ran
    assert "left out, and not needed" in ran  # Derby has no VOLATILE
    assert registered() == ["CDC_INV_THINGS"]
    with connect(config) as connection:
        changes = Catalog(connection).table("ASNCDC", "CDC_INV_THINGS")
    assert changes is not None
    assert changes.key == ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ")
    assert [one.code for one in check(config) if one.level == "error"] == []
    assert db2_database.execute(
        "SELECT MAP_ID, PHYS_CHANGE_TABLE FROM ASNCDC.IBMSNAP_PRUNCNTL"
    ) == [("1", "CDC_INV_THINGS")]
    verb("remove-table", "--run")
    assert registered() == []
    assert db2_database.execute("SELECT COUNT(*) FROM ASNCDC.IBMSNAP_PRUNCNTL") == [(0,)]
    assert main(["db2", "remove-table", str(file), "INV.THINGS", "--run"]) != 0
    assert "remove-table INV.THINGS" in capsys.readouterr().err


def test_what_is_no_table_of_a_schema_is_an_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["db2", "add-table", str(file), "THINGS"]) != 0
    assert "THINGS is no SCHEMA.TABLE" in capsys.readouterr().err
