"""The catalog of tables for snapshots, with sizes also for tables without statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from headrace.relational.catalog import StoredTable, TableCatalog, TableReading
from headrace.relational.reading.chunk_sql import Path
from headrace.relational.table import Column
from headrace.snapshots.tables import TableId

_SHORT_BYTES = 16
"""Size in bytes up to which values are assumed to fill their column."""


class CountedCatalog(TableCatalog[StoredTable]):
    """See TableCatalog. `catalog` returns the catalog of an open connection; `count` counts the
    rows of a table without statistics, each table once; `width` is the largest size of a column's
    values in bytes; a page has `page_bytes`. Methods raise errors of the driver."""

    def __init__(
        self,
        catalog: Callable[[], TableCatalog[StoredTable]],
        count: Callable[[Path], int],
        width: Callable[[Column], int],
        page_bytes: int,
    ) -> None:
        self._catalog, self._count, self._width = catalog, count, width
        self._page_bytes = page_bytes
        self._sizes: dict[TableId, tuple[int, int]] = {}

    def tables(self) -> Sequence[StoredTable]:
        """See TableCatalog."""
        return self._catalog().tables()

    def read(
        self, ids: Iterable[TableId] = (), /, *, sizes: bool = False
    ) -> TableReading[StoredTable]:
        """See TableCatalog."""
        reading = self._catalog().read(ids, sizes=sizes)
        if not sizes:
            return reading
        return TableReading({identity: self._sized(t) for identity, t in reading.tables.items()})

    def _sized(self, table: StoredTable) -> StoredTable:
        (leaf,) = table.leaves
        if leaf.rows > 0 and leaf.pages > 0:
            return table
        if table.id not in self._sizes:
            rows = self._count(table.path)
            self._sizes[table.id] = -(-rows * self._row_bytes(table) // self._page_bytes), rows
        pages, rows = self._sizes[table.id]
        return replace(table, leaves=(leaf._replace(pages=pages, rows=rows),))

    def _row_bytes(self, table: StoredTable) -> int:
        """Estimated bytes of a row, whose long values fill half of their columns."""
        widths = map(self._width, table.columns)
        return max(1, sum(width if width <= _SHORT_BYTES else width // 2 for width in widths))
