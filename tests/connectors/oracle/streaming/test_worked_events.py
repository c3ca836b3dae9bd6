"""The example events of Debezium's documentation, made from redo rows with the same values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.connectors.oracle.reading import OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

CUSTOMERS = {
    "name": "INVENTORY.CUSTOMERS",
    "columns": [
        "ID NUMBER(9,0) NOT NULL",
        "FIRST_NAME VARCHAR2(255) NOT NULL",
        "LAST_NAME VARCHAR2(255) NOT NULL",
        "EMAIL VARCHAR2(255) NOT NULL",
    ],
    "key": ["ID"],
    "rows": [[1001, "Sally", "Thomas", "sally.thomas@acme.com"]],
}
ANNE = {
    "ID": 1004,
    "FIRST_NAME": "Anne",
    "LAST_NAME": "Kretchmar",
    "EMAIL": "annek@noanswer.org",
}
ROW_ID = "AAASgjAAMAAAACnAAA"
RS_ID = " 001234.00012345.0124 "
OTHER_COLUMNS = (
    "\"FIRST_NAME\" = 'Anne' and \"LAST_NAME\" = 'Kretchmar' and \"EMAIL\" = 'annek@noanswer.org'"
)
SOURCE = {
    "connector": "oracle",
    "name": "server1",
    "ts_ms": 1520085154000,
    "snapshot": "false",
    "db": "ORCLPDB1",
    "sequence": None,
    "ts_us": 1520085154000000,
    "ts_ns": 1520085154000000000,
    "schema": "INVENTORY",
    "table": "CUSTOMERS",
    "txId": "06001c0027030000",
    "scn": "2122185",
    "commit_scn": "2122186",
    "lcr_position": None,
    "rs_id": "001234.00012345.0124",
    "ssn": 0,
    "redo_thread": 1,
    "user_name": "APP",
    "redo_sql": None,
    "row_id": ROW_ID,
    "commit_ts_ms": 1520085154000,
    "start_scn": "2122185",
    "start_ts_ms": 1520085154000,
    "txSeq": 1,
}


def transaction(operation: str, statement: str, **more: Any) -> list[dict[str, Any]]:
    """The redo of a transaction of the example: its beginning, a row of it, its commit."""
    line = {
        "xid": "06001c0027030000",
        "user": "APP",
        "time": "2018-03-03T13:52:34",
        "rs_id": RS_ID,
        **more,
    }
    scn = line.pop("scn", 2122185)
    commit = line.pop("commit", scn + 1)
    table = line.pop("table", "INVENTORY.CUSTOMERS")
    row_id = line.pop("row_id", ROW_ID)
    return [
        {**line, "redo": "START", "sql": "set transaction read write;", "scn": scn},
        {
            **line,
            "redo": operation,
            "sql": statement,
            "scn": scn,
            "table": table,
            "row_id": row_id,
        },
        {**line, "redo": "COMMIT", "sql": "commit;", "scn": commit},
    ]


@pytest.fixture
def readers() -> Iterator[list[OracleReader]]:
    opened: list[OracleReader] = []
    yield opened
    for reader in opened:
        reader.stop()


def started_reader(
    readers: list[OracleReader],
    database: OracleDatabase,
    tables: list[dict[str, Any]],
    *,
    state: dict[str, Any] | None = None,
    **more: str,
) -> OracleReader:
    """Start a reader. The database is at SCN 2122000, unless `state` has another SCN."""
    database_state = {"scn": 2122000, "advances": False, **(state or {})}
    database.server.load({"database": database_state, "tables": tables})
    properties = {
        "topic_prefix": "server1",
        "table_include_list": r"INVENTORY\..*,DEBEZIUM\..*",
        "include_schema_changes": "false",
        "log_mining_read_only": "true",
    }
    reader = OracleReader.of(database, **(properties | more))
    readers.append(reader)
    return reader


def source_of(value: dict[str, Any]) -> dict[str, Any]:
    """The source block without the release."""
    return {name: member for name, member in value["source"].items() if name != "version"}


INSERT_STATEMENT = (
    'insert into "INVENTORY"."CUSTOMERS"("ID","FIRST_NAME","LAST_NAME","EMAIL")'
    " values ('1004','Anne','Kretchmar','annek@noanswer.org');"
)


def test_a_create_event_equals_that_of_the_documentation(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    reader = started_reader(readers, oracle_database, [CUSTOMERS])
    oracle_database.server.apply(transaction("INSERT", INSERT_STATEMENT))
    (value,) = reader.await_changes(1)
    assert (value["before"], value["after"], value["op"]) == (None, ANNE, "c")
    assert source_of(value) == SOURCE
    assert list(source_of(value)) == list(SOURCE)
    assert value["transaction"] is None
    (record,) = reader.in_order()
    assert list(json.loads(record["value"])) == [
        "before", "after", "source", "transaction", "op", "ts_ms", "ts_us", "ts_ns",
    ]  # fmt: skip


def test_an_update_has_the_old_row_and_a_delete_is_followed_by_a_tombstone(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    reader = started_reader(readers, oracle_database, [CUSTOMERS])
    update_statement = (
        'update "INVENTORY"."CUSTOMERS" set "FIRST_NAME" = \'Anne Marie\' where "ID" = \'1004\''
    )
    oracle_database.server.apply(transaction("UPDATE", f"{update_statement} and {OTHER_COLUMNS};"))
    delete_statement = (
        f'delete from "INVENTORY"."CUSTOMERS" where "ID" = \'1004\' and {OTHER_COLUMNS};'
    )
    more = {"xid": "07001c0027030000", "scn": 2122188}
    oracle_database.server.apply(transaction("DELETE", delete_statement, **more))
    update, delete = reader.await_changes(2)
    assert (update["before"], update["after"]) == (ANNE, {**ANNE, "FIRST_NAME": "Anne Marie"})
    assert source_of(update) == SOURCE
    assert (delete["before"], delete["after"], delete["op"]) == (ANNE, None, "d")
    keys = [json.loads(record["key"]) for record in reader.in_order()]
    assert keys == [{"ID": 1004}] * 3
    assert reader.in_order()[-1]["value"] is None


def test_a_change_of_key_becomes_a_delete_a_tombstone_and_a_create_with_headers_for_both_keys(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    reader = started_reader(readers, oracle_database, [CUSTOMERS])
    key_update = 'update "INVENTORY"."CUSTOMERS" set "ID" = \'1005\' where "ID" = \'1004\''
    oracle_database.server.apply(transaction("UPDATE", f"{key_update} and {OTHER_COLUMNS};"))
    delete, create = reader.await_changes(2)
    assert [value["op"] for value in (delete, create)] == ["d", "c"]
    assert (delete["before"], create["after"]) == (ANNE, {**ANNE, "ID": 1005})
    first, tombstone, last = reader.in_order()
    assert [json.loads(record["key"])["ID"] for record in (first, tombstone, last)] == [
        1004,
        1004,
        1005,
    ]
    assert tombstone["value"] is None
    named = [
        {header["key"]: json.loads(header["value"]) for header in record["headers"]}
        for record in (first, last)
    ]
    assert named[0]["__debezium.newkey"] == {"ID": 1005}
    assert named[1]["__debezium.oldkey"] == {"ID": 1004}


def test_a_row_of_a_snapshot_has_no_transaction(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    reader = started_reader(readers, oracle_database, [CUSTOMERS], snapshot_mode="initial")
    (value,) = reader.await_changes(1)
    sally = dict(zip(ANNE, CUSTOMERS["rows"][0], strict=True))  # type: ignore[arg-type]
    assert (value["before"], value["after"], value["op"]) == (None, sally, "r")
    null_members = (
        "txId", "commit_scn", "rs_id", "redo_thread", "user_name", "row_id", "commit_ts_ms",
        "start_scn", "start_ts_ms", "txSeq",
    )  # fmt: skip
    source = source_of(value)
    # The stand-in's clock counts a second for each SCN.
    times = dict(zip(("ts_ms", "ts_us", "ts_ns"), (source["ts_ms"] * 10**n for n in (0, 3, 6)),
                     strict=True))  # fmt: skip
    expected = {
        **SOURCE,
        **dict.fromkeys(null_members),
        **times,
        "scn": "2122000",
        "snapshot": "last",
    }
    assert source == expected


def test_a_truncate_event_equals_that_of_the_documentation(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    table = {"name": "DEBEZIUM.TEST_TABLE", "columns": ["ID NUMBER(9,0) NOT NULL"], "key": ["ID"]}
    reader = started_reader(
        readers,
        oracle_database,
        [table],
        state={"scn": 13234300},
        topic_prefix="oracle_server",
        skipped_operations="none",
    )
    statement = "TRUNCATE TABLE DEBEZIUM.TEST_TABLE;"
    lines = transaction(
        "DDL",
        statement,
        xid="02000a0037030000",
        scn=13234397,
        commit=13271102,
        time="2021-12-08T14:42:15",
        table="DEBEZIUM.TEST_TABLE",
        row_id=None,
    )
    lines[1]["info"] = "USER DDL (PlSql=0 RecDep=0)"
    oracle_database.server.apply(lines)
    (value,) = reader.await_changes(1)
    assert (value["before"], value["after"], value["op"]) == (None, None, "t")
    assert reader.in_order()[0]["key"] is None
    ms = 1638974535000
    expected = {
        "name": "oracle_server",
        "schema": "DEBEZIUM",
        "table": "TEST_TABLE",
        "txId": "02000a0037030000",
        "scn": "13234397",
        "start_scn": "13234397",
        "commit_scn": "13271102",
        "row_id": None,
        **dict.fromkeys(("ts_ms", "commit_ts_ms", "start_ts_ms"), ms),
        "ts_us": ms * 1000,
        "ts_ns": ms * 1_000_000,
    }
    assert source_of(value) == {**SOURCE, **expected}


def test_a_record_set_id_loses_the_blanks_around_it(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    reader = started_reader(readers, oracle_database, [CUSTOMERS])
    rs_id = " 0x000123.00004567.0010 "
    oracle_database.server.apply(transaction("INSERT", INSERT_STATEMENT, rs_id=rs_id))
    (value,) = reader.await_changes(1)
    assert value["source"]["rs_id"] == "0x000123.00004567.0010"


@pytest.mark.parametrize("has_mask", [True, False])
def test_a_warning_says_that_redo_sql_has_masked_values(
    readers: list[OracleReader],
    oracle_database: OracleDatabase,
    caplog: pytest.LogCaptureFixture,
    has_mask: bool,
) -> None:
    mask = {"column.mask.with.5.chars": r"INVENTORY.CUSTOMERS.EMAIL"} if has_mask else {}
    reader = started_reader(
        readers, oracle_database, [CUSTOMERS], log_mining_include_redo_sql="true"
    )
    reader.configure({**reader.properties, **mask})
    reader.restart()
    oracle_database.server.apply(transaction("INSERT", INSERT_STATEMENT))
    (value,) = reader.await_changes(1)
    assert value["source"]["redo_sql"] == INSERT_STATEMENT
    assert ("those that column.mask.with.… hides" in caplog.text) is has_mask


def test_a_pluggable_database_may_have_a_name_in_quotes(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    reader = started_reader(
        readers,
        oracle_database,
        [CUSTOMERS],
        state={"pdb": "My Pdb"},
        database_pdb_name='"My Pdb"',
        provide_transaction_metadata="true",
    )
    oracle_database.server.apply(transaction("INSERT", INSERT_STATEMENT))
    (value,) = reader.await_changes(1)
    assert value["source"]["db"] == "My Pdb"
    reader.step_until(lambda: len(reader.borders()) == 2)
    (counted,) = reader.borders()[1]["data_collections"]
    assert counted["data_collection"] == "My Pdb.INVENTORY.CUSTOMERS"


DOCUMENTED_VALUES = {
    "ONE": ("NUMBER(38)", "1", "AQ=="),
    "SEVENTY": ("INTEGER", "77", "TQ=="),
    "MORE": ("NUMBER(38,0)", "4444", "EVw="),
    "SCALED": ("NUMBER(10,6)", "4.4444", "Q9Dw"),
    "ANY": ("NUMBER", "3.33", {"scale": 2, "value": "AU0="}),
    "FLOATS": ("FLOAT", "77.323", {"scale": 3, "value": "AS4L"}),
    "HUNDREDS": ("NUMBER(2,-2)", "9900", 9900),
    "WIDE": ("NUMBER(36,-2)", "100", "AQ=="),
    "TEN": ("NUMBER(10)", "99", 99),
}
"""Columns by name: type, the redo's text, what events have (decimal.handling.mode=precise)."""


def test_numbers_equal_those_of_the_documentation(
    readers: list[OracleReader], oracle_database: OracleDatabase
) -> None:
    columns = [
        "ID NUMBER(9,0) NOT NULL",
        *(f"{name} {documented[0]}" for name, documented in DOCUMENTED_VALUES.items()),
    ]
    table = {"name": "INVENTORY.NUMBERS", "columns": columns, "key": ["ID"]}
    reader = started_reader(readers, oracle_database, [table])
    names = ",".join(f'"{name}"' for name in ("ID", *DOCUMENTED_VALUES))
    values = ",".join(
        f"'{text}'" for text in ("1", *(value[1] for value in DOCUMENTED_VALUES.values()))
    )
    insert_statement = f'insert into "INVENTORY"."NUMBERS"({names}) values ({values});'
    oracle_database.server.apply(transaction("INSERT", insert_statement, table="INVENTORY.NUMBERS"))
    (value,) = reader.await_changes(1)
    assert value["after"] == {"ID": 1} | {
        name: documented[2] for name, documented in DOCUMENTED_VALUES.items()
    }
