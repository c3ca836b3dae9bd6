"""Tables that are altered while their redo is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"


@pytest.fixture
def reading(oracle_database: OracleDatabase) -> Iterator[OracleReader]:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database)
    yield reader
    reader.stop()


def add(database: OracleDatabase, **values: Any) -> None:
    """A row, in a transaction of its own."""
    with database.transaction() as transaction:
        transaction.insert(TABLE, **values)


def changes(reader: OracleReader) -> list[dict[str, Any]]:
    """Schema change events, but for those of the start, whose statements are the database's."""
    schema_changes = [value for value in reader.events() if "tableChanges" in value]
    return [value for value in schema_changes if value["ddl"] and not value["ddl"][0].isspace()]


def test_a_table_has_its_new_columns_from_the_statement_on(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, ID=1, NAME="one")
    reading.await_changes(1)
    oracle_database.server.ddl("ALTER TABLE INV.T ADD (MORE NUMBER(5))")
    add(oracle_database, ID=2, NAME="two", MORE=5)
    reading.await_changes(2)
    oracle_database.server.ddl("ALTER TABLE INV.T DROP COLUMN NAME")
    add(oracle_database, ID=3, MORE=6)
    reading.await_changes(3)
    assert [after for _, _, after in reading.images()] == [
        {"ID": 1, "NAME": "one"},
        {"ID": 2, "NAME": "two", "MORE": 5},
        {"ID": 3, "MORE": 6},
    ]
    schema_changes = changes(reading)
    assert [change["ddl"] for change in schema_changes] == [
        "ALTER TABLE INV.T ADD (MORE NUMBER(5))",
        "ALTER TABLE INV.T DROP COLUMN NAME",
    ]
    (table,) = (change["table"] for change in schema_changes[0]["tableChanges"])
    assert [column["name"] for column in table["columns"]] == ["ID", "NAME", "MORE"]
    assert schema_changes[0]["tableChanges"][0]["type"] == "ALTER"


def test_a_schema_change_comes_between_the_changes_that_it_parts(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, ID=1, NAME="one")
    reading.await_changes(1)
    oracle_database.server.ddl("ALTER TABLE INV.T ADD (MORE NUMBER(5))")
    add(oracle_database, ID=2, NAME="two", MORE=5)
    reading.await_changes(2)
    kinds = [
        "ddl" if "tableChanges" in value else value["op"]
        for value in reading.events()
        if value.get("op") or value in changes(reading)
    ]
    assert kinds == ["c", "ddl", "c"]


@pytest.mark.parametrize("is_held", [True, False])
def test_a_table_that_is_altered_inside_of_anothers_transaction_stops_nothing(
    reading: OracleReader, oracle_database: OracleDatabase, is_held: bool
) -> None:
    """Rows are those of the table as it was where they were written, whether they were read before
    the statement was run, or after that."""
    oracle_database.create_table("OTHER", *ID_AND_NAME, key=["ID"])
    long = oracle_database.server.begin()
    long.insert("INV.OTHER", ID=1, NAME="one")
    long.insert(TABLE, ID=1, NAME="before")
    if is_held:
        reading.step_until(
            lambda: reading.open().metrics()["streaming"]["NumberOfActiveTransactions"] > 0
        )
    oracle_database.server.ddl("ALTER TABLE INV.T ADD (MORE NUMBER(5))")
    long.insert("INV.OTHER", ID=2, NAME="two")
    long.commit()
    reading.await_changes(3)
    afters = [after for _, _, after in reading.images()]
    assert afters[1] == {"ID": 1, "NAME": "before"}


def test_a_table_that_is_made_is_captured_and_one_that_is_dropped_is_reported(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    server = oracle_database.server
    server.ddl("CREATE TABLE INV.NEW (ID NUMBER(9,0) NOT NULL, PRIMARY KEY (ID))")
    server.ddl("ALTER TABLE INV.NEW ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS")
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.NEW", ID=1)
    reading.await_changes(1)
    server.ddl("DROP TABLE INV.NEW")
    reading.step_until(
        lambda: "DROP" in [change["tableChanges"][0]["type"] for change in changes(reading)]
    )
    assert changes(reading)[0]["tableChanges"][0]["type"] == "CREATE"


def test_statements_of_excluded_users_are_not_emitted_and_their_columns_are_read(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    oracle_database.server.ddl("ALTER TABLE INV.T ADD (MORE NUMBER(5))", user="SYS")
    oracle_database.server.ddl("ALTER TABLE INV.T ADD (LAST NUMBER(5))", user="APP")
    add(oracle_database, ID=1, NAME="one", MORE=1, LAST=2)
    reading.await_changes(1)
    assert [change["ddl"] for change in changes(reading)] == [
        "ALTER TABLE INV.T ADD (LAST NUMBER(5))"
    ]


def test_a_statement_shows_its_own_transaction_and_user(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, ID=1, NAME="one")
    oracle_database.server.ddl("ALTER TABLE INV.T ADD (MORE NUMBER(5))", user="DBA")
    add(oracle_database, ID=2, NAME="two", MORE=1)
    reading.await_changes(2)
    (change,) = changes(reading)
    source = change["source"]
    transactions = {value["source"]["txId"] for value in reading.events() if "op" in value}
    assert source["txId"] is not None
    assert source["txId"] not in transactions
    assert (source["user_name"], source["redo_thread"]) == ("DBA", 1)
    assert source["rs_id"]
    assert source["commit_scn"] is None


def test_a_table_in_the_recycle_bin_is_no_captured_one(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, ID=1, NAME="one")
    recycled = "BIN$rxx==$0"
    for statement in (
        f'ALTER TABLE "INV"."T" RENAME TO "{recycled}" ;',
        f'drop table INV.T AS "{recycled}" ;',
    ):
        oracle_database.server.apply(
            [{"redo": "DDL", "sql": statement, "table": TABLE, "info": "USER DDL"}]
        )
    oracle_database.create_table("LATER", "ID NUMBER(9,0) NOT NULL", key=["ID"])
    with oracle_database.transaction() as transaction:
        transaction.insert("INV.LATER", ID=2)
    reading.await_changes(2)
    drops = [
        (table["type"], table["id"])
        for change in changes(reading)
        for table in change["tableChanges"]
    ]
    assert drops == [("DROP", '"ORCLPDB1"."INV"."T"')]


def test_comments_are_emitted_if_they_are_configured(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", "ID NUMBER(9,0) NOT NULL COMMENT 'the key'", key=["ID"])
    reader = OracleReader.of(oracle_database, include_schema_comments="true")
    add(oracle_database, ID=1)
    reader.await_changes(1)
    reader.stop()
    (first,) = [value for value in reader.events() if "tableChanges" in value]
    (column,) = first["tableChanges"][0]["table"]["columns"]
    assert column["comment"] == "the key"


def test_statements_of_tables_that_are_not_captured_are_emitted_unless_the_history_has_none(
    oracle_database: OracleDatabase,
) -> None:
    for only_captured in ("false", "true"):
        oracle_database.server.load({})
        oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
        oracle_database.create_table("X.T", *ID_AND_NAME, key=["ID"])
        reader = OracleReader.of(
            oracle_database,
            schema_history_internal_store_only_captured_tables_ddl=only_captured,
        )
        reader.step()
        oracle_database.server.ddl("ALTER TABLE X.T ADD (MORE NUMBER(5))")
        add(oracle_database, ID=1, NAME="one")
        reader.await_changes(1)
        reader.stop()
        schemas = [value["schemaName"] for value in reader.events() if "tableChanges" in value]
        assert schemas == (["INV"] if only_captured == "true" else ["INV", "X", "X"])


def test_a_history_that_outlives_its_process_knows_the_columns_of_older_redo(
    oracle_database: OracleDatabase, tmp_path: Any
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        oracle_database,
        schema_history_internal="io.debezium.storage.file.history.FileSchemaHistory",
        schema_history_internal_file_filename=str(tmp_path / "history.jsonl"),
    )
    add(oracle_database, ID=1, NAME="one")
    reader.await_changes(1)
    reader.stop()
    add(oracle_database, ID=2, NAME="two")
    oracle_database.server.ddl("ALTER TABLE INV.T DROP COLUMN NAME")
    add(oracle_database, ID=3)
    reader.await_changes(3)
    reader.stop()
    assert [after for _, _, after in reader.images()] == [
        {"ID": 1, "NAME": "one"},
        {"ID": 2, "NAME": "two"},
        {"ID": 3},
    ]


def test_the_hybrid_strategy_reads_rows_that_logminer_names_by_numbers(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, log_mining_strategy="hybrid")
    number = oracle_database.server.call("object_id", TABLE)
    xid = "0b00010001000000"
    statement = (
        f'insert into "UNKNOWN"."OBJ# {number}"("COL 1","COL 2") values '
        "(HEXTORAW('c102'),HEXTORAW('6f6e65'));"
    )
    oracle_database.server.apply(
        [
            {"redo": "INSERT", "xid": xid, "table": f"UNKNOWN.OBJ# {number}", "sql": statement,
             "row_id": "AAAAAAAAAAAAAAAA01", "status": 2, "info": "Object or Data type mismatch"},
            {"redo": "COMMIT", "xid": xid},
        ]
    )  # fmt: skip
    reader.await_changes(1)
    reader.stop()
    assert reader.images() == [("c", None, {"ID": 1, "NAME": "one"})]
