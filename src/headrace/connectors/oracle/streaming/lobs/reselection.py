"""Reads large values again that are not in the redo: if the key of their row changes, the event of
the row under its new key is a create, which has to contain them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.reading.dialect import PRESENT, shown
from headrace.connectors.oracle.rows.images import images_of
from headrace.errors import HeadraceError
from headrace.relational.table import Table

_TOO_OLD = frozenset({1555, 22924})
"""ORA codes of values whose versions are gone from undo, or from the LOB's segment."""


class LobReselection:
    """Reads values on a connection where the tables are. See `merging.Reselect`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __call__(
        self, table: Table, places: Sequence[int], key: Sequence[int], row: Sequence[bytes | None]
    ) -> Mapping[int, bytes | None]:
        """Return the values that the row has now; empty if it no longer exists. Raises DriverError
        and HeadraceError("oracle.large_value_too_old")."""
        columns = [table.columns[place] for place in places]
        conditions = []
        for place in key:
            cell, column = row[place], table.columns[place]
            if cell is None:
                return {}
            (name,) = PRESENT.columns([column.name])
            conditions.append(f"{name} = {PRESENT.dialect.literal(cell.decode(), column)}")
        statement = PRESENT.rows(table.path, shown(PRESENT, columns), (), conditions)
        try:
            rows = self._connection.rows(statement)
        except DriverError as error:
            if error.code not in _TOO_OLD:
                raise
            raise HeadraceError(
                "oracle.large_value_too_old",
                f"Large values of the table {table.schema}.{table.table}, of a row whose key "
                f"changed, cannot be read again: {error.text}",
                "The transaction is read again from the checkpoint. If this persists, raise "
                "UNDO_RETENTION, and the retention of the column (ALTER TABLE … MODIFY LOB (…) "
                "(RETENTION)).",
                retriable=True,
            ) from None
        if not rows:
            return {}
        names = [column.name for column in columns]
        (texts,) = images_of(f"{table.schema}.{table.table}", columns, names).texts(rows[:1])
        return {
            place: None if text is None else text.encode()
            for place, text in zip(places, texts, strict=True)
        }
