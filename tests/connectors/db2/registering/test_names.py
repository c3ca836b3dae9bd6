"""Names of schemas and tables that a user writes, as Db2 stores them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cli import main
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.properties.change_tables import stored_name

_CONNECTOR = {
    "topic.prefix": "p",
    "database.hostname": "h",
    "database.user": "u",
    "database.dbname": "d",
}


@pytest.mark.parametrize(
    ("written", "stored"),
    [("asncdc", "ASNCDC"), ("ASNCDC", "ASNCDC"), ('"asncdc"', "asncdc"), ('"a""b"', 'a"b')],
)
def test_schemas_of_control_tables_are_read_as_sql_reads_them(written: str, stored: str) -> None:
    config = Db2Config.parse(
        {**_CONNECTOR, "cdc.control.schema": written, "cdc.change.tables.schema": written}
    )
    assert (config.cdc_control_schema, config.cdc_change_tables_schema) == (stored, stored)


@given(st.text(min_size=1))
def test_a_name_in_quotation_marks_is_stored_as_it_is(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    assert stored_name(quoted) == name


def test_a_table_that_is_named_in_small_letters_is_registered_in_capitals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "db2.properties"
    properties = {"connector.class": "io.debezium.connector.db2.Db2Connector", **_CONNECTOR}
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    assert main(["db2", "add-table", str(file), "inventory.customers"]) == 0
    printed = capsys.readouterr().out
    assert '"INVENTORY"."CUSTOMERS"' in printed
    assert "customers" not in printed
