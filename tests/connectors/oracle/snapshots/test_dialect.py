"""Literals of keys, and the statements that read rows."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.reading.chunk_query import RowsQuery
from headrace.connectors.oracle.reading.dialect import PRESENT, sql_at
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk, ChunkKind

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TYPES = [
    "NUMBER", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE", "VARCHAR2", "NVARCHAR2", "CHAR", "RAW",
    "DATE", "TIMESTAMP(6)", "TIMESTAMP(6) WITH TIME ZONE", "INTERVAL YEAR(2) TO MONTH", "ROWID",
]  # fmt: skip
_TEXT = r"'(?:[^']|'')*'"
LITERAL = re.compile(rf"-?[0-9]+(?:\.[0-9]+)?|[A-Z_]*\(?{_TEXT}(?:, {_TEXT})?\)?", re.DOTALL)
ID = Column("ID", OracleType.of("NUMBER", 22, 9, 0), not_null=True)
AT = Column("AT", OracleType.of("TIMESTAMP(6)", 11, None, 6), not_null=True)


def literal(text: str, name: str) -> str:
    return PRESENT.dialect.literal(text, Column("C", OracleType.of(name, 9), not_null=True))


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        ("NUMBER", "-7.50", "-7.50"),
        ("BINARY_DOUBLE", "1e-07", "TO_BINARY_DOUBLE('1e-07')"),
        ("VARCHAR2", "it's", "'it''s'"),
        ("NVARCHAR2", "it's", "'it''s'"),
        ("NVARCHAR2", "ä\\𝄞", r"UNISTR('\00e4\005c\d834\dd1e')"),
        ("RAW", "\\x0aff", "HEXTORAW('0aff')"),
        ("DATE", "2020-01-31 10:00:00", "TO_DATE('2020-01-31 10:00:00', 'YYYY-MM-DD HH24:MI:SS')"),
        (
            "DATE",
            "4712-01-01 10:00:00 BC",
            "TO_DATE('-4712-01-01 10:00:00', 'SYYYY-MM-DD HH24:MI:SS')",
        ),
        (
            "TIMESTAMP(6)",
            "0044-03-15 10:00:00.5 BC",
            "TO_TIMESTAMP('-0044-03-15 10:00:00.500000000', 'SYYYY-MM-DD HH24:MI:SS.FF9')",
        ),
        (
            "TIMESTAMP(6)",
            "2020-01-31 10:00:00.5",
            "TO_TIMESTAMP('2020-01-31 10:00:00.500000000', 'YYYY-MM-DD HH24:MI:SS.FF9')",
        ),
        (
            "TIMESTAMP(6) WITH TIME ZONE",
            "2020-01-31T10:00:00Z",
            "TO_TIMESTAMP_TZ('2020-01-31 10:00:00.000000000 +00:00', "
            "'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')",
        ),
    ],
)
def test_a_value_is_written_as_its_column_compares_it(name: str, text: str, written: str) -> None:
    assert literal(text, name) == written


@given(TEXTS, st.sampled_from(TYPES))
def test_no_text_of_a_bound_leaves_its_literal(text: str, name: str) -> None:
    """Bounds are in offsets, which may have been edited."""
    assert LITERAL.fullmatch(literal(text, name))


def test_rows_are_read_as_of_the_snapshot_and_after_a_row_as_of_a_later_scn() -> None:
    chunk = Chunk(0, 1, ChunkKind.KEY, lower=("5",), upper=("9",))
    query = RowsQuery(("S", "T"), (ID, AT), (ID,), chunk, 70, may_read_later=True)
    columns = '"t"."ID", TO_CHAR("t"."AT", \'SYYYY-MM-DD HH24:MI:SS.FF9\') AS "AT"'
    assert query.statement(70) == (
        f'SELECT {columns} FROM "S"."T" AS OF SCN 70 "t" '
        'WHERE "t"."ID" >= 5 AND "t"."ID" < 9 ORDER BY "t"."ID"'
    )
    assert pickle.loads(pickle.dumps(query)).statement(80, query.key_of(("6", None))) == (
        f'SELECT {columns} FROM "S"."T" AS OF SCN 80 "t" '
        'WHERE ("t"."ID" > 6) AND "t"."ID" >= 5 AND "t"."ID" < 9 ORDER BY "t"."ID"'
    )


@pytest.mark.parametrize("name", ["SDO_GEOMETRY", "ANYDATA", "MY_TYPE"])
def test_columns_of_object_types_are_read_as_null(name: str) -> None:
    shape = Column("SHAPE", OracleType.of(name, 1), not_null=False)
    chunk = Chunk(0, 1, ChunkKind.WHOLE)
    query = RowsQuery(("S", "T"), (ID, shape), (), chunk, 70)
    assert query.statement(70) == ('SELECT "t"."ID", NULL AS "SHAPE" FROM "S"."T" AS OF SCN 70 "t"')


def test_every_statement_that_is_put_together_is_one_of_those_that_are_sent() -> None:
    at = sql_at(70)
    statements = [
        at.filled([("S", "T"), ("S", "U")]),
        at.count([("S", "T")], None),
        at.key_after(("S", "T"), [ID, AT], [at.compared([ID, AT], ">=", ["1", "2"])], 50),
        at.largest_key(("S", "T"), [ID], [], alone=True),
        at.bounds(("S", "T"), [ID], [], alone=True, size=10, count=3),
        at.rows(("S", "T"), at.columns(["ID"]), [ID], [], limit=9),
        RowsQuery(
            ("S", "T"),
            (ID,),
            (),
            Chunk(0, 1, ChunkKind.WHOLE),
            70,
            override="SELECT 1 ID FROM DUAL",
        ).statement(70),
    ]
    for statement in statements:
        assert sql.recognized(statement) is not None, statement
