"""Tables as the data dictionary describes them now."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.connection import Connection, Row
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.table import Column, Table

_EXPRESSION = re.compile(r"SYS_NC\d+\$")
"""Columns of indexes on expressions."""
_FETCHED_ROWS = 1000


class Catalog:
    """Queries the database's dictionary at each call, in the container of the connection. Methods
    raise DriverError."""

    def __init__(self, connection: Connection, *, comments: bool = True) -> None:
        """`comments`: columns have their comments."""
        self._connection, self._comments = connection, comments
        self._has_options = False

    def tables(self) -> list[tuple[str, str, int]]:
        """Return owner, name and OBJECT_ID of every table, in order; nested tables and their
        parents, overflow segments, temporary and external tables and those of domain indexes are
        left out."""
        rows = self._connection.rows(sql.tables(self._connection.version))
        return [(owner, name, int(identity)) for owner, name, identity in rows]

    def comments(self) -> dict[str, str]:
        """Return the comments of all tables by `schema.table`; empty: the table has none."""
        rows = self._connection.rows(sql.TABLE_COMMENTS())
        return {f"{owner}.{name}": comment or "" for owner, name, comment in rows}

    def object_ids(self, schema: str, name: str) -> tuple[int, int] | None:
        """Return OBJECT_ID and DATA_OBJECT_ID of a table; None if it does not exist."""
        statement = sql.OBJECT(one=sql.one_table("O.OBJECT_NAME"))
        return next((ids for _, ids in _identities(self._rows(statement, schema, name))), None)

    def object_ids_of(self, schema: str) -> dict[str, tuple[int, int]]:
        """Return OBJECT_ID and DATA_OBJECT_ID of all tables of a schema, by name."""
        return dict(_identities(self._every(sql.OBJECT(one=""), schema)))

    def table(self, schema: str, name: str) -> Table | None:
        """Return a table with its columns and key; None if it does not exist."""
        columns = self.columns(schema, name)
        return Table(schema, name, columns, self.key(schema, name)) if columns else None

    def tables_of(self, schema: str, names: Collection[str]) -> Iterator[Table]:
        """Yield those of these tables that exist, described by three statements for the whole
        schema."""
        primary = _columns_by_table(self._every(sql.PRIMARY_KEY(one=""), schema))
        indexed = {
            name: _key_of(list(rows))
            for name, rows in _by_table(self._every(sql.UNIQUE_INDEXES(one=""), schema))
        }
        for name, rows in _by_table(self._every(sql.COLUMNS(one=""), schema)):
            if name in names:
                key = primary.get(name) or indexed.get(name, ())
                yield Table(schema, name, self._columns(rows), key)

    def columns(self, schema: str, name: str) -> tuple[Column, ...]:
        """Return the columns of a table in its order, invisible ones last, without those that
        Oracle itself hides; empty if the table does not exist."""
        statement = sql.COLUMNS(one=sql.one_table("C.TABLE_NAME"))
        return self._columns(self._rows(statement, schema, name))

    def _columns(self, rows: Iterable[Row]) -> tuple[Column, ...]:
        columns = map(_column, rows)
        return tuple(
            column if self._comments else replace(column, comment=None) for column in columns
        )

    def key(self, schema: str, name: str) -> tuple[str, ...]:
        """Return the primary key in key order, or else the columns of the first unique index
        without expressions, or else an empty tuple."""
        statement = sql.PRIMARY_KEY(one=sql.one_table("K.TABLE_NAME"))
        key = tuple(column for _, column in self._rows(statement, schema, name))
        statement = sql.UNIQUE_INDEXES(one=sql.one_table("I.TABLE_NAME"))
        return key or _key_of(self._rows(statement, schema, name))

    def ddl(self, schema: str, name: str) -> str:
        """Return the CREATE TABLE statement of a table, without storage clauses."""
        if not self._has_options:
            self._connection.execute(sql.DDL_OPTIONS())
            self._has_options = True
        ((text,),) = self._rows(sql.TABLE_DDL(), schema, name)
        return str(text)

    def sizes(self, schema: str, name: str) -> tuple[int, int]:
        """Return rows and blocks by the statistics; 0 without statistics."""
        rows = self._rows(sql.TABLE_SIZE(), schema, name)
        return (int(rows[0][0] or 0), int(rows[0][1] or 0)) if rows else (0, 0)

    def _rows(self, statement: str, schema: str, name: str) -> list[Row]:
        return self._connection.rows(statement, {"owner": schema, "name": name})

    def _every(self, statement: str, schema: str) -> Iterator[Row]:
        """Yield rows of all tables of a schema, as they are fetched."""
        cursor = self._connection.cursor(statement, {"owner": schema}, rows=_FETCHED_ROWS)
        try:
            while rows := cursor.fetch(_FETCHED_ROWS):
                yield from rows
        finally:
            cursor.close()


def _by_table(rows: Iterable[Row]) -> Iterator[tuple[str, Iterator[Row]]]:
    """Group rows by the name of a table, their first value."""
    return groupby(rows, key=lambda row: str(row[0]))


def _columns_by_table(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(column for _, column in of_table) for name, of_table in _by_table(rows)}


def _identities(rows: Iterable[Row]) -> Iterator[tuple[str, tuple[int, int]]]:
    for name, object_id, data_object_id in rows:
        yield str(name), (int(object_id), int(data_object_id or 0))


def _key_of(indexed: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns of the first unique index of a table that has no expressions."""
    for _, index in groupby(indexed, key=lambda row: row[1]):
        names = tuple(column for _, _, column in index)
        if not any(_EXPRESSION.fullmatch(column) for column in names):
            return names
    return ()


def _column(row: Row) -> Column:
    name, data_type, length, characters, precision, scale, nullable, default, virtual, comment = (
        row[1:]
    )
    is_text = "CHAR" in data_type
    kind = OracleType.of(data_type, characters if is_text else length, precision, scale)
    stated = None if default is None or virtual == "YES" else str(default).strip()
    return Column(name, kind, nullable == "N", stated or None, comment, virtual == "YES")
