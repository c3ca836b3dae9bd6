"""Literals of keys, and what the driver's SQL cannot hold."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.db2 import sql
from headrace.connectors.db2.reading.dialect import SQL, bound
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.table import Column

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
TYPES = [
    "INTEGER", "DECIMAL", "DOUBLE", "REAL", "DECFLOAT", "BOOLEAN", "VARCHAR", "VARBINARY",
    "VARCHAR FOR BIT DATA", "DATE", "TIME", "TIMESTAMP", "XML",
]  # fmt: skip
LITERAL = re.compile(
    r"-?[0-9.]+(?:[Ee][+-]?[0-9]+)?|TRUE|FALSE|[A-Z]*\(?(?:B?X)?'(?:[^']|'')*'\)?"
    r"|CAST\(-?[0-9.]+[Ee][+-]?[0-9]+ AS REAL\)",
    re.DOTALL,
)


def literal(text: str, name: str) -> str:
    return SQL.dialect.literal(text, Column("C", Db2Type(name, 9), not_null=True))


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        ("INTEGER", "-7", "-7"),
        ("DECIMAL", "12.50", "12.50"),
        ("DOUBLE", "0.1", "0.1E0"),
        ("DOUBLE", "1e-07", "1e-07"),
        ("REAL", "0.1", "CAST(0.1E0 AS REAL)"),
        ("DECFLOAT", "1.5", "DECFLOAT('1.5')"),
        ("BOOLEAN", "t", "TRUE"),
        ("VARCHAR", "it's", "'it''s'"),
        ("VARCHAR FOR BIT DATA", "\\x0aff", "X'0aff'"),
        ("VARBINARY", "\\x0aff", "BX'0aff'"),
        ("DATE", "2020-01-31", "DATE('2020-01-31')"),
        ("TIMESTAMP", "2020-01-31 10:00:00.5", "TIMESTAMP('2020-01-31 10:00:00.5')"),
    ],
)
def test_a_value_is_written_as_its_column_compares_it(name: str, text: str, written: str) -> None:
    assert literal(text, name) == written


@pytest.mark.parametrize(
    ("kind", "size", "expression"),
    [
        (Db2Type("DECFLOAT", 34), "42", 'CAST("V" AS VARCHAR(42))'),
        (Db2Type("BOOLEAN", 1), "1", 'CASE WHEN "V" THEN 1 WHEN NOT "V" THEN 0 END'),
    ],
)
def test_what_the_driver_has_no_room_for_is_read_as_something_else(
    kind: Db2Type, size: str, expression: str
) -> None:
    """python-ibmdb's issue 1075 (CLI0111E), and its buffers of BOOLEAN, see `sql.exact`."""
    column = Column("V", kind, not_null=False)
    assert sql.readable(column) == f'{expression} AS "V"'
    assert SQL.dialect.as_text('"t"."V"', column) == expression.replace('"V"', '"t"."V"')
    assert size in expression


def test_the_longest_text_of_a_decfloat_has_room() -> None:
    longest = "-1.234567890123456789012345678901234E-6176"
    assert len(longest) == 42
    assert Decimal(longest).as_tuple().exponent == -6176 - 33


@given(TEXTS, st.sampled_from(TYPES))
def test_no_text_of_a_bound_leaves_its_literal(text: str, name: str) -> None:
    """Bounds are in offsets, which may have been edited."""
    assert LITERAL.fullmatch(literal(text, name))


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=3))
def test_wide_characters_become_parameters_and_nothing_else_changes(
    pairs: list[tuple[str, str]],
) -> None:
    narrow = [re.sub("[\U00010000-\U0010ffff]", "", name) for name, _ in pairs]
    statement = " AND ".join(
        f"{SQL.dialect.quoted(name)} = {literal(text, 'VARCHAR')}"
        for name, (_, text) in zip(narrow, pairs, strict=True)
    )
    replaced, parameters = bound(statement)
    assert not re.search("[\U00010000-\U0010ffff]", replaced)
    assert list(parameters) == [text for _, text in pairs if max(text, default="") > "\uffff"]
    if not parameters:
        assert replaced == statement
