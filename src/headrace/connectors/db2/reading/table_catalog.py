"""The tables of a database as snapshots list and describe them: by their names, for Db2 tells no
numbers of them to everybody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.reading.dialect import SQL
from headrace.relational.catalog import StoredTable, TableCatalog, TableReading
from headrace.relational.table import Table
from headrace.snapshots.tables import Leaf, TableId

PAGE_BYTES = 4096
_FIXED_BYTES = 16
"""Of a value whose type tells no length in characters, at most."""
_TABLE_STATISTICS = 0


class SnapshotCatalog(TableCatalog[StoredTable]):
    """See TableCatalog; a table's id is `schema.table`. `connection` gives an open connection, in
    whose transaction rows are counted. Methods raise DriverError."""

    def __init__(self, connection: Callable[[], Connection]) -> None:
        self._connection = connection
        self._sizes: dict[TableId, tuple[int, int]] = {}

    def tables(self) -> Sequence[StoredTable]:
        """See TableCatalog."""
        listed = Catalog(self._connection()).tables()
        return [StoredTable(*path, id=".".join(path)) for path in listed]

    def read(
        self, ids: Iterable[TableId] = (), /, *, sizes: bool = False
    ) -> TableReading[StoredTable]:
        """See TableCatalog. A table is counted once."""
        catalog = Catalog(self._connection())
        described: dict[TableId, StoredTable] = {}
        for identity in ids:
            schema, _, name = str(identity).partition(".")
            table = catalog.table(schema, name)
            if table is not None:
                described[identity] = self._stored(identity, table, sizes=sizes)
        return TableReading(described)

    def _stored(self, identity: TableId, table: Table, *, sizes: bool) -> StoredTable:
        stored = StoredTable(*table.path, table.columns, table.key, identity)
        if not sizes:
            return stored
        if identity not in self._sizes:
            self._sizes[identity] = self._size(table)
        return replace(stored, leaves=(Leaf(identity, *table.path, *self._sizes[identity]),))

    def _size(self, table: Table) -> tuple[int, int]:
        """Pages and rows: by the statistics, where they were made, else the rows are counted and
        the pages follow from the widths of the columns."""
        for row in self._connection().metadata("statistics", *table.path, False):
            if row["TYPE"] == _TABLE_STATISTICS and row["TABLE_NAME"] == table.table:
                pages, rows = int(row["PAGES"] or 0), int(row["CARDINALITY"] or 0)
                if pages > 0 and rows > 0:
                    return pages, rows
        ((rows,),) = self._connection().rows(SQL.count([table.path], None))
        return -(-int(rows) * _row_bytes(table) // PAGE_BYTES), int(rows)


def _row_bytes(table: Table) -> int:
    """Bytes of a row whose texts fill half of their columns."""
    widths = (column.type.length_and_scale()[0] for column in table.columns)
    halves = (width if width <= _FIXED_BYTES else width // 2 for width in widths)
    return max(1, sum(halves))
