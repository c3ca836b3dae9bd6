"""Statements of chunks for a database that folds names to upper case: every name is quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.reading.chunk_sql import ChunkSql, Path
from headrace.relational.table import Column

TABLE = ("shop", "orders")
KEY = tuple(Column(name, Db2Type("VARCHAR", 9), not_null=True) for name in ("id", "part"))
NULLABLE = (replace(KEY[0], not_null=False), KEY[1])
_WORDS = frozenset(
    re.findall(
        r"\S+",
        "SELECT FROM WHERE AND OR NOT ORDER BY DESC FETCH FIRST NEXT OFFSET ROWS ONLY TO_CHAR MOD "
        "OVER row_number count AS UNION ALL IS NULL",
    )
)


class FoldingDialect:
    """See Dialect; quoted names are between ⟨ and ⟩."""

    def quoted(self, *names: str) -> str:
        return ".".join(f"⟨{name}⟩" for name in names)

    no_table = " FROM ⟨DUAL⟩"

    def literal(self, text: str, column: Column) -> str:
        return f"⟨{column.type}⟩ '{text}'"

    def as_text(self, name: str, _column: Column) -> str:
        return f"TO_CHAR({name})"

    def source(self, table: Path, *, alone: bool) -> str:
        return self.quoted(*table)

    def compared(self, columns: Sequence[str], operator: str, values: Sequence[str]) -> str:
        pairs = zip(columns, values, strict=True)
        return " OR ".join(f"{column} {operator} {value}" for column, value in pairs)

    def from_page(self, operator: str, page: int) -> str:
        return f"{self.quoted('page')} {operator} {page}"

    def limited(self, select: str, rows: int, after: int = 0) -> str:
        return f"{select} OFFSET {after} ROWS FETCH NEXT {rows} ROWS ONLY"


SQL = ChunkSql(FoldingDialect())
STATEMENTS = {
    "rows": SQL.rows(
        TABLE, SQL.columns(("id", "note")), KEY, [SQL.compared(KEY, ">", ("1", "2"))], limit=5
    ),
    "key_after": SQL.key_after(TABLE, KEY, [SQL.compared(KEY, ">=", ("1", "2"))], 100),
    "largest_key": SQL.largest_key(TABLE, KEY, (), alone=True),
    "bounds": SQL.bounds(TABLE, KEY, (), alone=True, size=10, count=3),
    "is_after": f"WHERE {SQL.is_after(NULLABLE, ('1', '2'))}",
    "filled": SQL.filled([TABLE, ("shop", "lines")]),
    "count": SQL.count([TABLE], None),
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_every_name_of_a_statement_is_quoted(statement: str) -> None:
    bare = re.sub(r"⟨[^⟩]*⟩|'[^']*'", "", statement)
    assert set(re.findall(r"[A-Za-z_]+", bare)) <= _WORDS, statement


@pytest.mark.parametrize("name", ["rows", "key_after", "largest_key", "bounds"])
def test_columns_belong_to_the_alias_that_their_table_has(name: str) -> None:
    statement = STATEMENTS[name]
    assert "⟨t⟩.⟨id⟩" in statement
    assert "⟨shop⟩.⟨orders⟩ ⟨t⟩" in statement


def test_a_value_is_written_by_the_type_of_its_column() -> None:
    for statement in (STATEMENTS["rows"], STATEMENTS["key_after"], STATEMENTS["is_after"]):
        assert "⟨VARCHAR⟩ '1'" in statement


def test_what_reads_no_table_has_a_source_all_the_same() -> None:
    assert STATEMENTS["count"].endswith(" FROM ⟨DUAL⟩")
