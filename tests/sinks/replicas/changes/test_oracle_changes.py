"""Changes of tables of Oracle's stand-in in parts of replicas: large values."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.oracle import OracleDatabase
from tests.sinks.replicas.changes.change_readers import DELETE, INSERT, UPDATE, OracleChanges

pytestmark = pytest.mark.oracle

TABLE = "INV.L"
COLUMNS = ("ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(40)", "C CLOB", "B BLOB")


@pytest.fixture
def reader(oracle_database: OracleDatabase) -> Iterator[OracleChanges]:
    oracle_database.create_table("L", *COLUMNS, key=["ID"])
    reader = OracleChanges.of(oracle_database, lob_enabled="true")
    yield reader
    reader.stop()


def changes(reader: OracleChanges, count: int) -> list[dict[str, object]]:
    reader.step_until(lambda: len(reader.written.changes(".L")) >= count)
    return reader.written.changes(".L")


def test_a_large_value_that_an_update_does_not_carry_is_unavailable(
    reader: OracleChanges, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first", B="0aff")
    with oracle_database.transaction() as transaction:
        transaction.update(TABLE, {"ID": 1}, C="x" * 5000)
    with oracle_database.transaction() as transaction:
        transaction.delete(TABLE, ID=1)
    inserted, updated, deleted = changes(reader, 3)
    assert (inserted["operation"], inserted["C"], inserted["B"]) == (INSERT, "first", b"\x0a\xff")
    assert (updated["operation"], updated["unavailable"]) == (UPDATE, ["B"])
    assert (updated["C"], updated["B"]) == ("x" * 5000, None)
    assert (deleted["operation"], deleted["ID"], deleted["NAME"]) == (DELETE, 1, None)
    assert reader.written.schema(".L").key == ("ID",)


def test_large_values_of_a_row_whose_key_changed_and_that_is_gone_are_unavailable(
    reader: OracleChanges, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one", C="first")
    changes(reader, 1)
    oracle_database.server.apply([{"switch": 1}])
    with oracle_database.transaction() as transaction:
        transaction.update(TABLE, {"ID": 1}, ID=2)
        transaction.delete(TABLE, ID=2)
    _, _, created, deleted = changes(reader, 4)
    assert (created["operation"], created["ID"], created["C"]) == (INSERT, 2, None)
    assert "C" in created["unavailable"]  # type: ignore[operator]
    assert created["old_key"] == {"ID": 1}
    assert (deleted["operation"], deleted["ID"]) == (DELETE, 2)


def test_columns_that_were_added_say_what_older_rows_have_in_them(
    reader: OracleChanges, oracle_database: OracleDatabase
) -> None:
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
    changes(reader, 1)
    oracle_database.server.ddl("ALTER TABLE INV.L ADD (MORE NUMBER(5) DEFAULT 7 NOT NULL)")
    oracle_database.server.ddl("ALTER TABLE INV.L ADD (NOTHING NUMBER(5) DEFAULT NULL)")
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=2, NAME="two", MORE=8)
    changes(reader, 2)
    more, nothing = reader.written.schema(".L").columns[-2:]
    assert (more.name, more.default, more.is_known) == ("MORE", 7, True)
    assert (nothing.name, nothing.default, nothing.is_known) == ("NOTHING", None, True)
