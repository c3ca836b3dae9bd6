"""Effects of statements on tables; unusual statements end in an error of ours."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle.ddl.changes import DdlKind
from headrace.connectors.oracle.ddl.statements import parse_ddl
from headrace.connectors.oracle.ddl.tokens import stated
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.errors import HeadraceError
from headrace.relational.table import Column, Table
from headrace_demo.oracle.definitions import Column as Definition

T = Table(
    "S",
    "T",
    (
        Column("ID", OracleType.of("NUMBER", 22, 9, 0), True),
        Column("A", OracleType.of("VARCHAR2", 10), False, "'x'"),
    ),
    ("ID",),
)
TYPES = (
    "NUMBER", "NUMBER(5)", "NUMBER(5,2)", "NUMBER(5,-2)", "NUMBER(*,2)", "INTEGER",
    "SMALLINT", "DECIMAL", "DECIMAL(10)", "NUMERIC(10,3)", "FLOAT", "FLOAT(5)", "REAL",
    "DOUBLE PRECISION", "BINARY_FLOAT", "BINARY_DOUBLE", "CHAR", "CHAR(3)", "NCHAR(3)",
    "VARCHAR2(10)", "VARCHAR2(10 CHAR)", "VARCHAR(10)", "NVARCHAR2(10)", "RAW(16)", "LONG",
    "LONG RAW", "ROWID", "CLOB", "NCLOB", "BLOB", "XMLTYPE", "JSON", "DATE", "TIMESTAMP",
    "TIMESTAMP(0)", "TIMESTAMP(9) WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE",
    "INTERVAL YEAR TO MONTH", "INTERVAL YEAR(4) TO MONTH", "INTERVAL DAY TO SECOND",
    "INTERVAL DAY(3) TO SECOND(2)",
)  # fmt: skip
STATEMENTS = (
    "CREATE TABLE S.T (ID NUMBER(9) PRIMARY KEY, A VARCHAR2(9) DEFAULT 'it''s', CHECK (ID > 0))",
    "ALTER TABLE \"S\".\"T\" ADD (B DATE DEFAULT TO_DATE('2018-03-27','YYYY-MM-DD') NOT NULL)",
    "ALTER TABLE S.T MODIFY (A VARCHAR2(20) NULL) DROP COLUMN B",
    'ALTER TABLE S.T RENAME COLUMN A TO "b c"',
    "RENAME T TO U",
    "COMMENT ON COLUMN S.T.A IS 'it''s'",
    "TRUNCATE TABLE S.T; \0",
)


def after(sql: str, table: Table | None = T) -> Table | None:
    """The table after a statement."""
    (change,) = parse_ddl(sql, "S")
    return change.applied(table)


@pytest.mark.parametrize("written", TYPES)
def test_a_column_is_as_the_data_dictionary_describes_it(written: str) -> None:
    definition = Definition.parse(f"C {written}")
    table = after(f"ALTER TABLE T ADD C {written}")
    assert table is not None
    dictionary = OracleType.of(
        definition.type, definition.length, definition.precision, definition.scale
    )
    assert table.by_name["C"].type == replace(dictionary, is_stated=True)


def test_several_clauses_are_one_change() -> None:
    table = after("alter table t add b date drop column a modify id number(10) default 5")
    assert table is not None
    assert [column.name for column in table.columns] == ["ID", "B"]
    assert table.by_name["ID"].default == "5"
    assert table.by_name["ID"].type == OracleType("NUMBER", 22, 10, 0, is_stated=True)
    assert table.key == ("ID",)


@pytest.mark.parametrize(
    "written",
    [
        "DROP TABLE S.T",
        " /* told */ DROP TABLE S.T ;\n",
        "-- told\nDROP TABLE S.T;\0",
        "DROP TABLE S.T /* after */ ; /",
    ],
)
def test_a_statement_is_emitted_without_the_text_around_it(written: str) -> None:
    assert stated(written) == "DROP TABLE S.T"


def test_a_column_that_accepted_nulls_once_defaults_to_null() -> None:
    table = after("ALTER TABLE T MODIFY (A NOT NULL)")
    assert table is not None
    assert [column.defaults_to_null for column in table.columns] == [False, True]
    table = after("CREATE TABLE S.N (A NUMBER PRIMARY KEY, B NUMBER NOT NULL)", None)
    assert table is not None
    assert [(column.not_null, column.defaults_to_null) for column in table.columns] == [
        (True, True),
        (True, False),
    ]


def test_a_comment_is_its_tables_or_its_columns() -> None:
    table = after("COMMENT ON TABLE S.T IS 'it''s a table'")
    assert table is not None
    assert table.comment == "it's a table"
    table = after("COMMENT ON COLUMN S.T.A IS 'a text'")
    assert table is not None
    assert table.by_name["A"].comment == "a text"


def test_a_key_column_that_is_renamed_stays_in_the_key() -> None:
    table = after('ALTER TABLE S.T RENAME COLUMN ID TO "id"')
    assert table is not None
    assert table.key == ("id",)


def test_a_table_has_another_name_after_rename() -> None:
    for sql in ("RENAME T TO U", "ALTER TABLE S.T RENAME TO U"):
        (change,) = parse_ddl(sql, "S")
        assert (change.kind, change.previous, change.path) == (
            DdlKind.RENAME,
            ("S", "T"),
            ("S", "U"),
        )
        assert change.applied(T) == Table("S", "U", T.columns, T.key)


def test_a_reference_that_is_set_to_null_changes_no_column() -> None:
    sql = "ALTER TABLE S.T ADD CONSTRAINT F FOREIGN KEY (A) REFERENCES S.U (A) ON DELETE SET NULL"
    assert after(sql) == T


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE S.N AS SELECT * FROM S.T",
        "CREATE TABLE S.N OF S.KIND",
        "ALTER TABLE S.T MODIFY NOPE DATE",
        "ALTER TABLE S.T ADD C AS (ID + 1)",
        "ALTER TABLE S.T RENAME COLUMN NOPE TO N",
    ],
)
def test_what_a_statement_does_not_say_is_an_error(sql: str) -> None:
    (change,) = parse_ddl(sql, "S")
    with pytest.raises(HeadraceError) as error:
        change.applied(T)
    assert error.value.code == "oracle.ddl_not_understood"


@pytest.mark.parametrize(
    "sql",
    ["CREATE INDEX I ON S.T (A)", "GRANT SELECT ON S.T TO X", "", "COMMENT ON MATERIALIZED VIEW"],
)
def test_statements_of_other_objects_change_no_table(sql: str) -> None:
    assert parse_ddl(sql, "S") == ()


def outcome(sql: str) -> str | None:
    """The code of the error that a statement ends in; None: it is understood."""
    try:
        for change in parse_ddl(sql, "S"):
            change.applied(T)
    except HeadraceError as error:
        return error.code
    return None


@given(st.sampled_from(STATEMENTS), st.data())
def test_a_statement_that_is_cut_or_mixed_up_is_understood_or_an_error(
    sql: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(sql)))
    end = data.draw(st.integers(start, len(sql)))
    piece = data.draw(st.sampled_from(("", "(", ")", "'", '"', ",", " NULL ", "\0", ". ")))
    assert outcome(sql[:start] + piece + sql[end:]) in (None, "oracle.ddl_not_understood")
