"""The tables of a database as snapshots list and describe them, with their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from headrace.connectors.db2.catalog.stored_tables import StoredTables
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.reading.dialect import SQL
from headrace.relational.catalog import StoredTable, TableCatalog, TableReading
from headrace.snapshots.tables import TableId

PAGE_BYTES = 4096
_SHORT_BYTES = 16
"""Up to which a value is taken to fill its column."""


class SnapshotCatalog(TableCatalog[StoredTable]):
    """See TableCatalog. `connection` gives an open connection, in whose transaction the rows of
    tables without statistics are counted, each table once. Methods raise DriverError."""

    def __init__(self, connection: Callable[[], Connection]) -> None:
        self._connection = connection
        self._sizes: dict[TableId, tuple[int, int]] = {}

    def tables(self) -> Sequence[StoredTable]:
        """See TableCatalog."""
        return StoredTables(self._connection()).tables()

    def read(
        self, ids: Iterable[TableId] = (), /, *, sizes: bool = False
    ) -> TableReading[StoredTable]:
        """See TableCatalog."""
        reading = StoredTables(self._connection()).read(ids, sizes=sizes)
        if not sizes:
            return reading
        return TableReading({one: self._sized(t) for one, t in reading.tables.items()})

    def _sized(self, table: StoredTable) -> StoredTable:
        (leaf,) = table.leaves
        if leaf.rows > 0 and leaf.pages > 0:
            return table
        if table.id not in self._sizes:
            ((rows,),) = self._connection().rows(SQL.count([table.path], None))
            self._sizes[table.id] = -(-int(rows) * _row_bytes(table) // PAGE_BYTES), int(rows)
        pages, rows = self._sizes[table.id]
        return replace(table, leaves=(leaf._replace(pages=pages, rows=rows),))


def _row_bytes(table: StoredTable) -> int:
    """Bytes of a row whose long values fill half of their columns."""
    widths = (column.type.length_and_scale()[0] for column in table.columns)
    return max(1, sum(width if width <= _SHORT_BYTES else width // 2 for width in widths))
