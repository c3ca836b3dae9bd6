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


def test_a_table_is_registered_and_removed_by_the_verbs(
    db2_database: Db2Database, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Db2Config.parse(db2_database.properties())

    def verb(action: str, *more: str) -> str:
        words = ["db2", action, str(file), "INV.THINGS", "--keep-data-capture", *more]
        assert main(words) == 0
        return capsys.readouterr().out

    def registered() -> list[str]:
        with connect(config) as connection:
            return [registration.change_table for registration in registrations(connection, config)]

    printed = verb("add-table")
    first, *_, last = (line for line in printed.splitlines() if "reinit" not in line)
    assert first == "-- in one unit of work: db2 +c -stvf FILE"
    assert last == "COMMIT;"
    assert registered() == []
    assert "VALUES \"ASNCDC\".ASNCDCSERVICES('reinit','asncdc');" in printed
    run_output = verb("add-table", "--run")
    assert "-- done" in run_output
    assert "left out, and not needed" in run_output  # Derby has no VOLATILE
    assert registered() == ["CDC_INV_THINGS"]
    with connect(config) as connection:
        changes = Catalog(connection).table("ASNCDC", "CDC_INV_THINGS")
    assert changes is not None
    assert changes.key == ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ")
    assert [finding.code for finding in check(config) if finding.level == "error"] == []
    ((number, server, change_table),) = db2_database.execute(
        "SELECT MAP_ID, CNTL_SERVER, PHYS_CHANGE_TABLE FROM ASNCDC.IBMSNAP_PRUNCNTL"
    )
    assert (number, server.rstrip(), change_table) == ("1", "SIMULATOR", "CDC_INV_THINGS")
    verb("remove-table", "--run")
    assert registered() == []
    assert db2_database.execute("SELECT COUNT(*) FROM ASNCDC.IBMSNAP_PRUNCNTL") == [(0,)]
    assert main(["db2", "remove-table", str(file), "INV.THINGS", "--run"]) != 0
    assert "remove-table INV.THINGS" in capsys.readouterr().err


def test_large_columns_are_left_out_of_the_change_table_and_named(
    db2_database: Db2Database, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db2_database.create_table(
        "BOOKS", "ID INTEGER NOT NULL PRIMARY KEY, BODY CLOB(1M), TITLE VARCHAR(20)", captured=False
    )
    words = ["db2", "add-table", str(file), "INV.BOOKS", "--keep-data-capture", "--run"]
    assert main(words) == 0
    assert "-- left out: BODY, SQL replication captures no CLOB" in capsys.readouterr().out
    with connect(Db2Config.parse(db2_database.properties())) as connection:
        columns = Catalog(connection).columns("ASNCDC", "CDC_INV_BOOKS")
    assert [column.name for column in columns[3:]] == ["ID", "TITLE"]


def test_without_the_database_the_statements_are_printed_with_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "db2.properties"
    file.write_text(
        "connector.class=io.debezium.connector.db2.Db2Connector\ntopic.prefix=p\n"
        "database.hostname=127.0.0.1\ndatabase.port=1\ndatabase.user=u\ndatabase.dbname=D\n"
    )
    assert main(["db2", "add-table", str(file), "INV.THINGS"]) == 0
    printed = capsys.readouterr().out
    assert "-- the columns of INV.THINGS could not be read: " in printed
    assert "-- leave columns of LOBs and XML out" in printed
    assert "SOURCE.* FROM" in printed
    assert main(["db2", "add-table", str(file), "INV.THINGS", "--run"]) != 0


_VERSION = "INSERT INTO ASNCDC.IBMQREP_TABVERSION VALUES (X'01', {id}, 1, 1, 'INV', '{table}')"
_COLUMN = (
    "INSERT INTO ASNCDC.IBMQREP_COLVERSION VALUES (X'01', {id}, 1, 1, 'ID', 496, 4, 'N', NULL)"
)
_SUBSCRIBED = (
    "INSERT INTO ASNCDC.IBMSNAP_SUBS_COLS VALUES "
    "('A', 'S', 'S', 'INV', '{table}', 'A', 'ID', 'Y', 1, 'ID')",
    "INSERT INTO ASNCDC.IBMSNAP_SUBS_MEMBR VALUES "
    "('A', 'S', 'S', 'INV', '{table}', 0, 'INV', '{table}', 'Y', 'Y', 8, NULL)",
)
_KEPT = {
    "IBMSNAP_SUBS_COLS": "TARGET_TABLE", "IBMSNAP_SUBS_MEMBR": "TARGET_TABLE",
    "IBMQREP_COLVERSION": "TABLEID1", "IBMQREP_TABVERSION": "TABLEID1",
}  # fmt: skip


def test_what_is_kept_of_a_tables_columns_goes_with_its_last_registration(
    db2_database: Db2Database, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, table in enumerate(("THINGS", "OTHERS")):
        for statement in (_VERSION, _COLUMN, *_SUBSCRIBED):
            db2_database.execute(statement.format(id=number, table=table))
    words = [str(file), "INV.THINGS", "--keep-data-capture", "--run"]

    def kept() -> list[int]:
        return [
            len(db2_database.execute(f"SELECT DISTINCT {column} FROM ASNCDC.{table}"))
            for table, column in _KEPT.items()
        ]

    for name in ("CDC_FIRST", "CDC_SECOND"):
        assert main(["db2", "add-table", *words, "--change-table", name]) == 0
    # ADDTABLE puts quotation marks around the name there.
    db2_database.execute(
        "UPDATE ASNCDC.IBMSNAP_PRUNCNTL SET PHYS_CHANGE_TABLE = '\"CDC_FIRST\"' "
        "WHERE PHYS_CHANGE_TABLE = 'CDC_FIRST'"
    )
    assert main(["db2", "remove-table", *words, "--change-table", "CDC_FIRST"]) == 0
    assert kept() == [2, 2, 2, 2]
    assert main(["db2", "remove-table", *words, "--change-table", "CDC_SECOND"]) == 0
    assert kept() == [1, 1, 1, 1]
    assert db2_database.execute("SELECT TABLEID1 FROM ASNCDC.IBMQREP_COLVERSION") == [(1,)]
    assert db2_database.execute("SELECT COUNT(*) FROM ASNCDC.IBMSNAP_PRUNCNTL") == [(0,)]
    assert "left out, and not needed: DELETE" not in capsys.readouterr().out


def test_a_registration_ends_where_apply_has_no_control_tables(
    db2_database: Db2Database, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in ("IBMSNAP_SUBS_COLS", "IBMSNAP_SUBS_MEMBR"):
        db2_database.execute(f"DROP TABLE ASNCDC.{table}")
    words = [str(file), "INV.THINGS", "--keep-data-capture", "--run"]
    assert main(["db2", "add-table", *words]) == 0
    assert main(["db2", "remove-table", *words]) == 0
    printed = capsys.readouterr().out
    assert printed.count("left out, and not needed: DELETE") == 2
    assert db2_database.execute("SELECT COUNT(*) FROM ASNCDC.IBMSNAP_REGISTER") == [(1,)]


@pytest.mark.parametrize("action", ["add-table", "remove-table"])
def test_tables_of_zos_are_registered_elsewhere(
    file: Path, capsys: pytest.CaptureFixture[str], action: str
) -> None:
    file.write_text(f"{file.read_text()}db2.platform=ZOS\n")
    assert main(["db2", action, str(file), "INV.THINGS"]) != 0
    printed = capsys.readouterr().err
    assert "db2.platform is ZOS" in printed
    assert "MODIFY capture,REINIT" in printed


def test_what_is_no_table_of_a_schema_is_an_error(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["db2", "add-table", str(file), "THINGS"]) != 0
    assert "THINGS is not a SCHEMA.TABLE" in capsys.readouterr().err
