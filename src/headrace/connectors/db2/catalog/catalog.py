"""Tables as the driver's metadata describe them now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.sql import quoted
from headrace.connectors.db2.types.source_type import Db2Type
from headrace.relational.table import Column, Table

_TIMESTAMP = "TIMESTAMP"
_MICROSECONDS = 6
_NO_NULLS = 0


class Catalog:
    """Queries the database's catalogue at each call. Methods raise DriverError."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def tables(self) -> list[tuple[str, str]]:
        """Schema and name of every table, in order, without views and aliases."""
        listed = self._connection.metadata("tables", None, None, "TABLE")
        return sorted({(row["TABLE_SCHEM"].rstrip(), row["TABLE_NAME"]) for row in listed})

    def table(self, schema: str, name: str) -> Table | None:
        """A table with its columns and key; None if it does not exist."""
        columns = self.columns(schema, name)
        return Table(schema, name, columns, self.key(schema, name, columns)) if columns else None

    def columns(self, schema: str, name: str) -> tuple[Column, ...]:
        """Return the columns of a table in their order; empty if the table does not exist."""
        described = self._metadata("columns", schema, name)
        scales = self._fine_scales(schema, name, described)
        return tuple(
            Column(
                column["COLUMN_NAME"],
                Db2Type.of(
                    column["TYPE_NAME"],
                    column["COLUMN_SIZE"],
                    scales.get(column["COLUMN_NAME"], column["DECIMAL_DIGITS"]),
                ),
                column["NULLABLE"] == _NO_NULLS,
                column["COLUMN_DEF"],
                column["REMARKS"] or None,
            )
            for column in sorted(described, key=lambda column: int(column["ORDINAL_POSITION"]))
        )

    def key(self, schema: str, name: str, columns: Iterable[Column]) -> tuple[str, ...]:
        """Return the primary key in key order, or else the columns of the first unique index whose
        columns are all NOT NULL, or else an empty tuple."""
        parts = self._metadata("primary_keys", schema, name)
        if parts:
            return tuple(
                row["COLUMN_NAME"] for row in sorted(parts, key=lambda row: int(row["KEY_SEQ"]))
            )
        not_null = {column.name for column in columns if column.not_null}
        indexed = [
            row
            for row in self._metadata("statistics", schema, name, True)
            if row["INDEX_NAME"] is not None and not row["NON_UNIQUE"]
        ]
        indexed.sort(key=lambda row: (row["INDEX_NAME"], int(row["ORDINAL_POSITION"])))
        for _, index in groupby(indexed, key=lambda row: row["INDEX_NAME"]):
            names = tuple(row["COLUMN_NAME"] for row in index)
            if not_null.issuperset(names):
                return names
        return ()

    def is_indexed(self, schema: str, name: str, column: str) -> bool:
        """Whether an index of a table begins with this column."""
        indexed = self._metadata("statistics", schema, name, False)
        return any(
            row["ORDINAL_POSITION"] == 1 and row["COLUMN_NAME"] == column
            for row in indexed
            if row["INDEX_NAME"] is not None
        )

    def _metadata(
        self, function: str, schema: str, name: str, *more: bool
    ) -> list[Mapping[str, Any]]:
        """Return the rows of metadata of this table only: some of the functions take names as
        patterns, in which an underscore matches any character."""
        return [
            row
            for row in self._connection.metadata(function, schema, name, *more)
            if row["TABLE_SCHEM"].rstrip() == schema and row["TABLE_NAME"] == name
        ]

    def _fine_scales(
        self, schema: str, name: str, described: Iterable[Mapping[str, Any]]
    ) -> dict[str, int]:
        """Return the fraction digits of TIMESTAMP columns whose metadata do not say six, as a query
        on them describes them: not every server's metadata have the digits of the column."""
        names = [
            row["COLUMN_NAME"]
            for row in described
            if row["TYPE_NAME"] == _TIMESTAMP and row["DECIMAL_DIGITS"] != _MICROSECONDS
        ]
        if not names:
            return {}
        columns = ", ".join(map(quoted, names))
        cursor = self._connection.cursor(
            f"SELECT {columns} FROM {quoted(schema, name)} WHERE 0 = 1"
        )
        try:
            return {column: cursor.scale(place) for place, column in enumerate(names)}
        finally:
            cursor.close()
