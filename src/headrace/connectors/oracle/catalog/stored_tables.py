"""Tables with the identities by which snapshots and checks know them: OBJECT_ID of ALL_OBJECTS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.connection import Connection
from headrace.relational.catalog import StoredTable, TableReading
from headrace.relational.reading.chunk_sql import Path
from headrace.relational.table import Table
from headrace.snapshots.tables import Leaf

WHOLE_SCHEMA_FROM = 50
"""The number of described tables of a schema from which on statements read all of the schema."""


class StoredTables:
    """See headrace.relational.catalog.TableCatalog. Methods raise DriverError."""

    def __init__(self, connection: Connection, *, comments: bool = True) -> None:
        """`comments`: columns have their comments."""
        self._catalog = Catalog(connection, comments=comments)

    def tables(self) -> Sequence[StoredTable]:
        """Every table of the database, without columns and leaves."""
        return [
            StoredTable(schema, name, id=identity)
            for schema, name, identity in self._catalog.tables()
        ]

    def read(self, ids: Iterable[int] = (), /, *, sizes: bool = False) -> TableReading[StoredTable]:
        """Return tables with columns, key and leaves. `sizes`: leaves have rows and blocks from the
        database's statistics, 0 if it has none."""
        names = {identity: (schema, name) for schema, name, identity in self._catalog.tables()}
        requested = {names[identity]: identity for identity in ids if identity in names}
        described = {}
        for table in self._described(requested):
            identity = requested[table.path]
            rows, blocks = self._catalog.sizes(*table.path) if sizes else (0, 0)
            leaf = Leaf(identity, *table.path, blocks, rows)
            described[identity] = StoredTable(
                *table.path, table.columns, table.key, identity, (leaf,), own_id=str(identity)
            )
        return TableReading(described)

    def _described(self, paths: Iterable[Path]) -> Iterator[Table]:
        """Describe tables one by one, or all of a schema at once if they are many."""
        of_schemas: dict[str, set[str]] = {}
        for schema, name in paths:
            of_schemas.setdefault(schema, set()).add(name)
        for schema, names in of_schemas.items():
            if len(names) >= WHOLE_SCHEMA_FROM:
                yield from self._catalog.tables_of(schema, names)
                continue
            tables = (self._catalog.table(schema, name) for name in names)
            yield from (table for table in tables if table is not None)
