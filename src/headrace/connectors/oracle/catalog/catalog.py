"""Tables as the data dictionary describes them now."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection, Row
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.table import Column, Table

_EXPRESSION = re.compile(r"SYS_NC\d+\$")
"""Columns of indexes on expressions."""


class Catalog:
    """Asks the database anew each time, in the container of the connection. Methods raise
    DriverError."""

    def __init__(self, connection: Connection, *, comments: bool = True) -> None:
        """`comments`: columns have theirs."""
        self._connection, self._comments = connection, comments

    def tables(self) -> list[tuple[str, str, int]]:
        """Owner, name and OBJECT_ID of every table, in order; nested tables, overflow segments,
        temporary tables and those of domain indexes are none."""
        rows = self._connection.rows(sql.TABLES())
        return [(owner, name, int(identity)) for owner, name, identity in rows]

    def object_ids(self, schema: str, name: str) -> tuple[int, int] | None:
        """OBJECT_ID and DATA_OBJECT_ID of a table; None where there is none."""
        rows = self._rows(sql.OBJECT(), schema, name)
        return (int(rows[0][0]), int(rows[0][1] or 0)) if rows else None

    def table(self, schema: str, name: str) -> Table | None:
        """A table with its columns and key; None when there is none of that name."""
        columns = self.columns(schema, name)
        return Table(schema, name, columns, self.key(schema, name)) if columns else None

    def columns(self, schema: str, name: str) -> tuple[Column, ...]:
        """The columns of a table in its order, without hidden ones; none when there is no such
        table."""
        columns = map(_column, self._rows(sql.COLUMNS(), schema, name))
        return tuple(one if self._comments else replace(one, comment=None) for one in columns)

    def key(self, schema: str, name: str) -> tuple[str, ...]:
        """The primary key in key order, else the columns of the first unique index that has no
        expressions, else none."""
        key = tuple(one for (one,) in self._rows(sql.PRIMARY_KEY(), schema, name))
        if key:
            return key
        indexed = self._rows(sql.UNIQUE_INDEXES(), schema, name)
        for _, index in groupby(indexed, key=lambda row: row[0]):
            names = tuple(column for _, column in index)
            if not any(_EXPRESSION.fullmatch(column) for column in names):
                return names
        return ()

    def ddl(self, schema: str, name: str) -> str:
        """The CREATE TABLE of a table, without what says where it is stored."""
        self._connection.execute(sql.DDL_OPTIONS())
        ((text,),) = self._rows(sql.TABLE_DDL(), schema, name)
        return str(text)

    def sizes(self, schema: str, name: str) -> tuple[int, int]:
        """Rows and blocks as the statistics count them, 0 where there are none."""
        rows = self._rows(sql.TABLE_SIZE(), schema, name)
        return (int(rows[0][0] or 0), int(rows[0][1] or 0)) if rows else (0, 0)

    def _rows(self, statement: str, schema: str, name: str) -> list[Row]:
        return self._connection.rows(statement, {"owner": schema, "name": name})


def _column(row: Row) -> Column:
    name, data_type, length, characters, precision, scale, nullable, default, virtual, comment = row
    is_text = "CHAR" in data_type
    kind = OracleType.of(data_type, characters if is_text else length, precision, scale)
    stated = None if default is None or virtual == "YES" else str(default).strip()
    return Column(name, kind, nullable == "N", stated or None, comment, virtual == "YES")
