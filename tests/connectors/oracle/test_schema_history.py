"""Oracle's tables in a schema history."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle.ddl.statements import parse_ddl
from headrace.connectors.oracle.position import ThreadCommit
from headrace.connectors.oracle.schema_history import (
    described_table,
    history_place,
    history_table,
    snapshot_position,
)
from headrace.connectors.oracle.scn import place_of
from headrace.connectors.oracle.streaming.table_statements import (
    At,
    DeliveredTransaction,
    TableStatement,
)
from headrace.connectors.oracle.types.options import DEFAULT_OPTIONS
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.history.tables import HistoryTable
from headrace.relational.table import Column, Table
from headrace.relational.types.column_type import NO_COLUMN
from headrace_demo.oracle.definitions import Column as Definition

DATABASE = "ORCLPDB1"
TYPES = [
    "NUMBER", "NUMBER(9)", "NUMBER(38,0)", "NUMBER(8,-2)", "NUMBER(10,4)", "FLOAT", "FLOAT(10)",
    "BINARY_FLOAT", "BINARY_DOUBLE", "CHAR(3)", "NCHAR(3)", "VARCHAR2(10)", "NVARCHAR2(10)",
    "RAW(16)", "LONG", "ROWID", "CLOB", "NCLOB", "BLOB", "XMLTYPE", "DATE", "TIMESTAMP",
    "TIMESTAMP(0)", "TIMESTAMP(9) WITH TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "INTERVAL YEAR(4) TO MONTH", "INTERVAL DAY(3) TO SECOND(2)",
]  # fmt: skip


def kept(table: Table) -> HistoryTable:
    """The table as a history's record has it."""
    written = history_table(table, DATABASE)
    return HistoryTable.from_json(
        written.id, json.loads(json.dumps(written.to_json())), written.comment
    )


def rendered(table: Table) -> list[tuple[object, ...]]:
    """The columns as events have them."""
    column_types = (
        column.type.resolve(DEFAULT_OPTIONS, optional=True, default=None, column=NO_COLUMN)
        for column in table.columns
    )
    return [
        () if resolved is None else (resolved.schema, resolved.encoding, resolved.parameter)
        for resolved in column_types
    ]


@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=6))
def test_a_table_of_a_statement_comes_back_from_the_history(types: list[str]) -> None:
    columns = ", ".join(f"C{number} {written}" for number, written in enumerate(types))
    (change,) = parse_ddl(f"CREATE TABLE S.T ({columns}, PRIMARY KEY (C0))", "S")
    table = change.applied(None)
    assert table is not None
    again = described_table(kept(table))
    assert history_table(again, DATABASE) == history_table(table, DATABASE)
    assert rendered(again) == rendered(table)


@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=6), st.booleans())
def test_a_table_of_the_data_dictionary_comes_back_from_the_history(
    types: list[str], not_null: bool
) -> None:
    columns = []
    for number, written in enumerate(types):
        definition = Definition.parse(f"C{number} {written}")
        declared = OracleType.of(
            definition.type, definition.length, definition.precision, definition.scale
        )
        columns.append(Column(definition.name, declared, not_null, comment="a comment"))
    table = Table("S", "T", tuple(columns), ("C0",))
    again = described_table(kept(table))
    assert history_table(again, DATABASE) == history_table(table, DATABASE)
    assert rendered(again) == rendered(table)


@pytest.mark.parametrize(
    ("written", "name", "length", "scale"),
    [
        ("NUMBER", "NUMBER", 38, None),
        ("TIMESTAMP(3)", "TIMESTAMP", 3, None),
        ("TIMESTAMP(3) WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", 3, None),
        ("INTERVAL DAY TO SECOND", "INTERVAL DAY TO SECOND", 2, 6),
        ("DATE", "DATE", None, None),
        ("CLOB", "CLOB", None, None),
    ],
)
def test_a_column_of_a_statement_is_described_as_debeziums_parser_does(
    written: str, name: str, length: int | None, scale: int | None
) -> None:
    (change,) = parse_ddl(f"CREATE TABLE S.T (C {written})", "S")
    table = change.applied(None)
    assert table is not None
    (column,) = history_table(table, DATABASE).columns
    assert (column.type_name, column.length, column.scale) == (name, length, scale)


@pytest.mark.parametrize(
    ("written", "name", "length", "scale"),
    [
        ("NUMBER", "NUMBER", 0, None),
        ("TIMESTAMP(3)", "TIMESTAMP(3)", 3, None),
        ("TIMESTAMP(3) WITH TIME ZONE", "TIMESTAMP(3) WITH TIME ZONE", 13, 3),
        ("INTERVAL YEAR TO MONTH", "INTERVAL YEAR(2) TO MONTH", 2, 0),
        ("DATE", "DATE", None, None),
        ("CLOB", "CLOB", 4000, None),
    ],
)
def test_a_column_of_the_data_dictionary_is_described_as_the_driver_does(
    written: str, name: str, length: int | None, scale: int | None
) -> None:
    definition = Definition.parse(f"C {written}")
    declared = OracleType.of(
        definition.type, definition.length, definition.precision, definition.scale
    )
    (column,) = history_table(Table("S", "T", (Column("C", declared, False),)), DATABASE).columns
    assert (column.type_name, column.length, column.scale) == (name, length, scale)


def test_a_statement_has_a_position_of_debeziums_whose_place_is_its_own() -> None:
    statement = TableStatement(
        At(1000062, 0x0A00040004030000),
        0,
        "ALTER TABLE S.T ADD (A NUMBER)",
        thread=1,
        sequence=7,
        last=DeliveredTransaction(0x0A00010001030000, 1000060, "ANN"),
        threads=(
            ThreadCommit(1, 1000062, (0x0A00040004030000,)),
            ThreadCommit(2, 1000060, (0x0A00010001030000,)),
        ),
    )
    position = statement.position("1000050")
    assert json.dumps(position) == json.dumps(
        {
            "commit_scn": "1000062:1:0a00040004030000,1000060:2:0a00010001030000",
            "txSeq": 7,
            "txId": "0a00010001030000",
            "snapshot_scn": "1000050",
            "scn": "1000062",
        }
    )
    assert history_place(position) == statement.at.place


def test_a_snapshot_is_before_every_statement_after_its_scn() -> None:
    assert history_place(snapshot_position(1000050)) == place_of(1000050, 0)


@pytest.mark.parametrize("position", [{}, {"scn": "x"}, {"scn": 5}, {"commit_scn": "1:2:3:4:5"}])
def test_an_invalid_position_has_no_place(position: dict[str, object]) -> None:
    assert history_place(position) is None


def test_mining_begins_again_where_an_open_transaction_began_but_not_before_the_snapshot() -> None:
    for mined, expected_scn in ((1000040, "1000050"), (1000055, "1000055")):
        statement = TableStatement(At(1000062, 1), 0, mined=mined)
        assert statement.position("1000050")["scn"] == expected_scn
