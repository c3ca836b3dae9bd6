"""The SQL of chunks that is specific to Oracle.

Values of keys are literals of their columns' types, made of headrace's texts. Times and intervals
are read as texts, see `rows.texts`: times in formats whose years have a sign, which those of the
session do not have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.types.declarations import (
    BYTES,
    DAY_TO_SECOND,
    LOCAL,
    NATIONAL,
    NUMBERS,
    YEAR_TO_MONTH,
    ZONED,
    has_values,
)
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.reading.chunk_sql import ChunkSql, Dialect, Path
from headrace.relational.reading.key_order import by_columns
from headrace.relational.table import Column

SQLGLOT = "oracle"
"""The dialect in which sqlglot reads filters."""

SHOWN = frozenset({"DATE", "TIMESTAMP", ZONED, LOCAL, YEAR_TO_MONTH, DAY_TO_SECOND})
"""Kinds of types whose values are read as texts: the driver's values have no zone, and fewer
digits."""

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_HEXADECIMAL = re.compile(r"\\x((?:[0-9a-f]{2})*)")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?( BC)?")
_PAST_ASCII = re.compile(r"[^ -~]|\\")
_SECONDS = "YYYY-MM-DD HH24:MI:SS"
_SIGNED = {
    "DATE": f"S{_SECONDS}",
    "TIMESTAMP": f"S{_SECONDS}.FF9",
    LOCAL: f"S{_SECONDS}.FF9",
    ZONED: f"S{_SECONDS}.FF9 TZH:TZM",
}
"""Formats in which times are read: years before Christ have a minus, others a blank."""


@dataclass(frozen=True)
class OracleDialect:
    """See `headrace.relational.reading.chunk_sql.Dialect`. Tables are read as of `scn`; None: as
    they are now."""

    scn: int | None = None

    no_table = " FROM DUAL"

    def quoted(self, *names: str) -> str:
        """See Dialect."""
        return sql.quoted(*names)

    def literal(self, text: str, column: Column) -> str:
        """See Dialect. A text that is not a value of its type becomes an SQL text."""
        kind = kind_of(column)
        if kind in NUMBERS and _NUMBER.fullmatch(text):
            return text
        if kind in ("BINARY_FLOAT", "BINARY_DOUBLE"):
            return f"TO_{kind}({sql.text(text)})"
        if kind in BYTES and (digits := _HEXADECIMAL.fullmatch(text)):
            return f"HEXTORAW('{digits[1]}')"
        if kind in SHOWN and (parts := _TIME.fullmatch(text)):
            return _time_literal(kind, *parts.groups(""))
        if kind in NATIONAL and _PAST_ASCII.search(text):
            return f"UNISTR({sql.text(_PAST_ASCII.sub(_escaped, text))})"
        return sql.text(text)

    def as_text(self, name: str, column: Column) -> str:
        """See Dialect: the driver returns values, which rows/ converts to texts."""
        kind = kind_of(column)
        if kind in _SIGNED:
            return f"TO_CHAR({name}, {sql.text(_SIGNED[kind])})"
        return f"TO_CHAR({name})" if kind in SHOWN else name

    def source(self, table: Path, *, alone: bool) -> str:  # noqa: ARG002
        """See Dialect: no table inherits from another."""
        return self.quoted(*table) + ("" if self.scn is None else sql.as_of(self.scn))

    def compared(self, columns: Sequence[str], operator: str, values: Sequence[str]) -> str:
        """See Dialect."""
        return by_columns(columns, operator, values)

    def from_page(self, operator: str, page: int) -> str:
        """See Dialect."""
        raise AssertionError(f"Oracle's tables are not cut by pages ({operator} {page})")

    def limited(self, select: str, rows: int, after: int = 0) -> str:
        """See Dialect."""
        offset = f" OFFSET {after} ROWS" if after else ""
        return f"{select}{offset} FETCH FIRST {rows} ROWS ONLY"


PRESENT = ChunkSql(OracleDialect())
"""The SQL of tables as they are now."""


def sql_at(scn: int) -> ChunkSql:
    """Return the SQL of tables as of an SCN."""
    return ChunkSql(OracleDialect(scn))


def shown(statements: ChunkSql, columns: Sequence[Column]) -> list[str]:
    """Return the expressions with which columns are read, by their names: NULL for columns of
    object types."""
    names = statements.columns(column.name for column in columns)
    return [
        _shown(statements.dialect, name, column)
        for name, column in zip(names, columns, strict=True)
    ]


def _shown(dialect: Dialect, name: str, column: Column) -> str:
    kind, alias = kind_of(column), dialect.quoted(column.name)
    if not has_values(kind):
        return f"NULL AS {alias}"
    return f"{dialect.as_text(name, column)} AS {alias}" if kind in SHOWN else name


def kind_of(column: Column) -> str:
    """See `OracleType.kind`."""
    assert isinstance(column.type, OracleType)
    return column.type.kind


def _time_literal(kind: str, day: str, clock: str, fraction: str, zone: str, era: str) -> str:
    sign, time = ("-" if era else ""), f"{day} {clock}"
    seconds = f"S{_SECONDS}" if era else _SECONDS
    if kind == "DATE":
        return f"TO_DATE('{sign}{time}', '{seconds}')"
    time = f"{sign}{time}.{fraction.ljust(9, '0')}"
    if kind in (ZONED, LOCAL):
        offset = "+00:00" if zone in ("Z", "") else zone
        return f"TO_TIMESTAMP_TZ('{time} {offset}', '{seconds}.FF9 TZH:TZM')"
    return f"TO_TIMESTAMP('{time}', '{seconds}.FF9')"


def _escaped(match: re.Match[str]) -> str:
    r"""A UTF-16 unit is `\XXXX` in UNISTR."""
    units = match[0].encode("utf-16-be")
    return "".join(f"\\{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
