"""The SQL that registers tables: what it says, and that a database takes it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from headrace.connectors.db2.checks.replication import registering, unregistered
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.registering.statements import RegistrationStep, adding, removing
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.table import Column, Table

PROPERTIES = {
    "topic.prefix": "s",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "D",
    "cdc.control.schema": "ASN",
    "cdc.change.tables.schema": "CD",
}
CONFIG = Db2Config.parse(PROPERTIES)


def texts(steps: Iterable[RegistrationStep]) -> list[str]:
    return [step.sql for step in steps]


def test_a_registration_needs_the_log_a_change_table_and_two_rows() -> None:
    added = texts(adding(CONFIG, "Inv", "O'x", "CDC_Inv_O'x"))
    assert added[0] == """ALTER TABLE "Inv"."O'x" DATA CAPTURE CHANGES"""
    assert added[1].startswith("""CREATE TABLE "CD"."CDC_Inv_O'x" AS (SELECT """)
    assert added[1].endswith(" WITH NO DATA ORGANIZE BY ROW")
    assert '''INSERT INTO "ASN"."IBMSNAP_REGISTER"''' in added[-2]
    assert "'O''x'" in added[-2]
    assert '''INSERT INTO "ASN"."IBMSNAP_PRUNCNTL"''' in added[-1]


def test_a_change_table_has_no_columns_of_large_values() -> None:
    columns = [
        Column(name, Db2Type(kind), False)
        for name, kind in (("ID", "INTEGER"), ("BODY", "CLOB"), ('A"B', "VARCHAR"), ("X", "XML"))
    ]
    (statement,) = (
        statement
        for statement in texts(adding(CONFIG, "S", "T", "C", columns))
        if "SELECT CAST" in statement
    )
    assert """, SOURCE."ID", SOURCE."A""B" FROM "S"."T" SOURCE)""" in statement
    (statement,) = (
        statement
        for statement in texts(adding(CONFIG, "S", "T", "C"))
        if "SELECT CAST" in statement
    )
    assert """, SOURCE.* FROM "S"."T" SOURCE)""" in statement


def test_no_literal_is_empty_because_oracles_compatibility_takes_it_for_null() -> None:
    for statement in texts(adding(CONFIG, "S", "T", "C")):
        assert "''" not in statement


def test_the_control_server_is_the_database_as_the_server_calls_it() -> None:
    added = texts(adding(CONFIG, "S", "T", "C"))[-1]
    assert ", CNTL_SERVER, MAP_ID) SELECT " in added
    assert ", CURRENT SERVER, " in added
    assert "'D'" not in added


def test_a_registration_ends_with_all_that_removetable_deletes() -> None:
    source = "SOURCE_OWNER = 'Inv' AND SOURCE_TABLE = 'O''x'"
    last = f'NOT EXISTS (SELECT 1 FROM "ASN"."IBMSNAP_REGISTER" WHERE {source})'
    target = f"TARGET_OWNER = 'Inv' AND TARGET_TABLE = 'O''x' AND {last}"
    version = "SOURCE_OWNER = 'Inv' AND SOURCE_NAME = 'O''x'"
    assert texts(removing(CONFIG, "Inv", "O'x", "CDC_Inv_O'x")) == [
        f'DELETE FROM "ASN"."IBMSNAP_PRUNCNTL" WHERE {source} AND PHYS_CHANGE_TABLE IN '
        """('CDC_Inv_O''x', '"CDC_Inv_O''x"')""",
        f"DELETE FROM \"ASN\".\"IBMSNAP_REGISTER\" WHERE {source} AND CD_TABLE = 'CDC_Inv_O''x'",
        '''DROP TABLE "CD"."CDC_Inv_O'x"''',
        f'DELETE FROM "ASN"."IBMSNAP_SUBS_COLS" WHERE {target}',
        f'DELETE FROM "ASN"."IBMSNAP_SUBS_MEMBR" WHERE {target}',
        'DELETE FROM "ASN"."IBMQREP_COLVERSION" C WHERE EXISTS (SELECT 1 FROM '
        f'"ASN"."IBMQREP_TABVERSION" T WHERE {version} AND T.TABLEID1 = C.TABLEID1 AND '
        f"T.TABLEID2 = C.TABLEID2) AND {last}",
        f'DELETE FROM "ASN"."IBMQREP_TABVERSION" WHERE {version} AND {last}',
        """ALTER TABLE "Inv"."O'x" DATA CAPTURE NONE""",
    ]


@pytest.mark.parametrize("make", [adding, removing])
def test_data_capture_can_be_left_as_it_is(make: object) -> None:
    statements = texts(make(CONFIG, "INV", "T", "CDC_INV_T", log_changes=False))  # type: ignore[operator]
    assert not any("DATA CAPTURE" in statement for statement in statements)


def test_only_what_registers_is_needed() -> None:
    optional = [step.sql for step in adding(CONFIG, "INV", "T", "C") if not step.is_needed]
    assert optional == ['ALTER TABLE "CD"."C" VOLATILE CARDINALITY']
    optional = [step.sql for step in removing(CONFIG, "INV", "T", "C") if not step.is_needed]
    assert [text.split()[2] for text in optional] == [
        '"ASN"."IBMSNAP_SUBS_COLS"',
        '"ASN"."IBMSNAP_SUBS_MEMBR"',
    ]


def test_remedies_call_the_procedure_of_the_control_schema_with_names_that_sql_reads() -> None:
    assert registering(CONFIG, [("Inv", "O'x"), ("INV", "T")]) == (
        """CALL "ASN".ADDTABLE('Inv', 'O''x'); CALL "ASN".ADDTABLE('INV', 'T'); """
        """VALUES "ASN".ASNCDCSERVICES('reinit','asncdc');"""
    )


def test_remedies_of_zos_name_nothing_that_only_luw_has() -> None:
    config = Db2Config.parse(PROPERTIES | {"db2.platform": "ZOS"})
    remedy = unregistered(config, [Table("INV", "T", ())]).remedy
    assert "MODIFY capture,REINIT" in remedy
    assert "ASNCDCSERVICES" not in remedy
    assert "add-table" not in remedy


@pytest.mark.parametrize("action", ["add-table", "remove-table"])
def test_the_sql_is_printed_to_its_end_without_the_driver(tmp_path: Path, action: str) -> None:
    """The command runs in a process of its own: here the driver may be imported already."""
    file = tmp_path / "db2.properties"
    properties = {"connector.class": "io.debezium.connector.db2.Db2Connector", **PROPERTIES}
    file.write_text("".join(f"{name}={text}\n" for name, text in properties.items()))
    script = f"""
import sys
sys.modules["ibm_db"] = None
from headrace.cli import main
sys.exit(main(["db2", "{action}", {str(file)!r}, "INV.THINGS"]))
"""
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
    *_, commit, last = answer.stdout.splitlines()
    assert commit == "COMMIT;"
    assert "VALUES \"ASN\".ASNCDCSERVICES('reinit','asncdc');" in last
