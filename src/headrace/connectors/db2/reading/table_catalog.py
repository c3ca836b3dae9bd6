"""The tables of a database as snapshots list and describe them, with their sizes."""

from __future__ import annotations

from collections.abc import Callable

from headrace.connectors.db2.catalog.stored_tables import StoredTables
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.reading.dialect import SQL
from headrace.relational.reading.chunk_sql import Path
from headrace.relational.reading.counted_catalog import CountedCatalog
from headrace.relational.table import Column

PAGE_BYTES = 4096


def snapshot_catalog(connection: Callable[[], Connection]) -> CountedCatalog:
    """See CountedCatalog. `connection` returns an open connection, in whose transaction the queries
    run."""

    def count(table: Path) -> int:
        ((rows,),) = connection().rows(SQL.count([table], None))
        return int(rows)

    def width(column: Column) -> int:
        return int(column.type.length_and_scale()[0] or 0)

    return CountedCatalog(lambda: StoredTables(connection()), count, width, PAGE_BYTES)
