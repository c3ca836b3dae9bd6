"""The SQL of chunks that is specific to Db2.

It needs no window functions and no comparisons of whole rows. Values of keys are literals of their
columns' types, made of headrace's texts; what the driver's SQL cannot hold becomes a parameter
(`bound`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from headrace.connectors.db2 import sql
from headrace.connectors.db2.types.declarations import (
    BYTES,
    DATES,
    DECIMALS,
    TIMES,
    TIMESTAMPS,
)
from headrace.relational.reading.chunk_sql import ChunkSql, Path
from headrace.relational.reading.key_order import by_columns
from headrace.relational.table import Column

SQLGLOT = "oracle"
"""The dialect in which sqlglot reads filters: like Db2, it folds names to upper case and doubles
quotes."""

_WHOLE = frozenset({"SMALLINT", "INTEGER", "INT", "BIGINT"}) | DECIMALS
_BINARY = frozenset({"BINARY", "VARBINARY"})
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_FLOAT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
_HEXADECIMAL = re.compile(r"\\x((?:[0-9a-f]{2})*)")
_TRUTHS = {"t": "TRUE", "f": "FALSE"}
_TEXTS = re.compile(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'')
_WIDE = re.compile("[\U00010000-\U0010ffff]")


class Db2Dialect:
    """See `headrace.relational.reading.chunk_sql.Dialect`."""

    no_table = " FROM SYSIBM.SYSDUMMY1"

    def quoted(self, *names: str) -> str:
        """See Dialect."""
        return sql.quoted(*names)

    def literal(self, text: str, column: Column) -> str:
        """See Dialect. A text that is not a value of its type becomes an SQL text."""
        name = str(column.type)
        if name in _WHOLE and _NUMBER.fullmatch(text):
            return text
        if name in ("DOUBLE", "FLOAT", "REAL") and _FLOAT.fullmatch(text):
            number = text if "e" in text else f"{text}E0"
            return f"CAST({number} AS REAL)" if name == "REAL" else number
        if name == "DECFLOAT":
            return f"DECFLOAT({sql.literal(text)})"
        if name == "BOOLEAN" and text in _TRUTHS:
            return _TRUTHS[text]
        if name in BYTES and (digits := _HEXADECIMAL.fullmatch(text)):
            return f"{'BX' if name in _BINARY else 'X'}'{digits[1]}'"
        if name in DATES | TIMES | TIMESTAMPS:
            return f"{name}({sql.literal(text)})"
        return sql.literal(text)

    def as_text(self, name: str, column: Column) -> str:
        """See Dialect: the driver returns values, which rows/ converts to texts."""
        return sql.exact(name, column)

    def source(self, table: Path, *, alone: bool) -> str:  # noqa: ARG002
        """See Dialect: no table inherits from another."""
        return self.quoted(*table)

    def compared(self, columns: Sequence[str], operator: str, values: Sequence[str]) -> str:
        """See Dialect."""
        return by_columns(columns, operator, values)

    def from_page(self, operator: str, page: int) -> str:
        """See Dialect."""
        raise AssertionError(f"Db2's tables are not cut by pages ({operator} {page})")

    def limited(self, select: str, rows: int, after: int = 0) -> str:
        """See Dialect."""
        offset = f" OFFSET {after} ROWS" if after else ""
        return f"{select}{offset} FETCH FIRST {rows} ROWS ONLY"


class Db2ChunkSql(ChunkSql):
    """See ChunkSql. COUNT(*) is an INTEGER, which overflows for large tables; counting locks no
    rows."""

    counted = "COALESCE(SUM(CAST(1 AS BIGINT)), 0)"

    def count(self, leaves: Sequence[Path], condition: str | None) -> str:
        """See ChunkSql: uncommitted rows are counted, too."""
        return f"{super().count(leaves, condition)} WITH UR"


SQL = Db2ChunkSql(Db2Dialect())


def bound(statement: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement and its parameters: the driver truncates statements with characters beyond
    the basic plane, so literals with such characters become parameters."""
    if not _WIDE.search(statement):
        return statement, ()
    parameters: list[str] = []

    def replace(match: re.Match[str]) -> str:
        if match[0][0] == '"' or not _WIDE.search(match[0]):
            return match[0]
        parameters.append(match[0][1:-1].replace("''", "'"))
        return "?"

    replaced = _TEXTS.sub(replace, statement)
    return replaced, tuple(parameters)
