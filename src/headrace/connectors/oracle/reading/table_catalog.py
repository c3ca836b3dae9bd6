"""The tables of a database as snapshots list and describe them, with their sizes."""

from __future__ import annotations

from collections.abc import Callable

from headrace.connectors.oracle.catalog.stored_tables import StoredTables
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.reading.dialect import PRESENT
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.reading.chunk_sql import Path
from headrace.relational.reading.counted_catalog import CountedCatalog
from headrace.relational.table import Column

PAGE_BYTES = 8192
"""The default of DB_BLOCK_SIZE: sizes of chunks are estimated by it."""
_LOB_BYTES = 4000


def snapshot_catalog(
    connection: Callable[[], Connection], *, comments: bool = True
) -> CountedCatalog:
    """See CountedCatalog. `connection` returns an open connection, in whose transaction the queries
    run. `comments`: columns have their comments."""

    def count(table: Path) -> int:
        ((rows,),) = connection().rows(PRESENT.count([table], None))
        return int(rows)

    def width(column: Column) -> int:
        assert isinstance(column.type, OracleType)
        return column.type.length or _LOB_BYTES

    return CountedCatalog(
        lambda: StoredTables(connection(), comments=comments), count, width, PAGE_BYTES
    )
