"""PostgreSQL's SQL where it differs between databases."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from headrace.relational.reading.chunk_sql import ChunkSql, Path
from headrace.relational.table import Column

PAGE_BYTES = 8192
SQLGLOT = "postgres"
"""sqlglot's name of the SQL dialect of filters."""


class PostgresDialect:
    """See `headrace.relational.reading.chunk_sql.Dialect`."""

    def quoted(self, *names: str) -> str:
        """See Dialect."""
        return sql.Identifier(*names).as_string()

    no_table = ""

    def literal(self, text: str, _column: Column) -> str:
        """See Dialect: a literal has the type of the value that it is compared with."""
        return sql.Literal(text).as_string()

    def as_text(self, name: str, _column: Column) -> str:
        """See Dialect."""
        return f"{name}::text"

    def source(self, table: Path, *, alone: bool) -> str:
        """See Dialect."""
        return ("ONLY " if alone else "") + self.quoted(*table)

    def compared(self, columns: Sequence[str], operator: str, values: Sequence[str]) -> str:
        """See Dialect."""
        row = "ROW" if len(columns) > 1 else ""
        return f"{row}({', '.join(columns)}) {operator} {row}({', '.join(values)})"

    def from_page(self, operator: str, page: int) -> str:
        """See Dialect."""
        return f"ctid {operator} '({page},0)'"

    def limited(self, select: str, rows: int, after: int = 0) -> str:
        """See Dialect."""
        return f"{select} OFFSET {after} LIMIT {rows}" if after else f"{select} LIMIT {rows}"


SQL = ChunkSql(PostgresDialect())


def copied(select: str) -> str:
    """A COPY … TO STDOUT (text format) of the rows of a SELECT."""
    return f"COPY ({select}) TO STDOUT"
