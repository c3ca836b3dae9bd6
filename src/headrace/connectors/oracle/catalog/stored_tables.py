"""Tables with the identities by which snapshots and checks know them: OBJECT_ID of ALL_OBJECTS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.connectors.oracle.catalog.catalog import Catalog
from headrace.connectors.oracle.connection import Connection
from headrace.relational.catalog import StoredTable, TableReading
from headrace.snapshots.tables import Leaf


class StoredTables:
    """See headrace.relational.catalog.TableCatalog. Methods raise DriverError."""

    def __init__(self, connection: Connection, *, comments: bool = True) -> None:
        """`comments`: columns have theirs."""
        self._catalog = Catalog(connection, comments=comments)

    def tables(self) -> Sequence[StoredTable]:
        """Every table of the database, without columns and leaves."""
        return [
            StoredTable(schema, name, id=identity)
            for schema, name, identity in self._catalog.tables()
        ]

    def read(self, ids: Iterable[int] = (), /, *, sizes: bool = False) -> TableReading[StoredTable]:
        """Tables with columns, key and leaves. `sizes`: leaves have rows and blocks as the
        database's statistics count them, 0 where it has none."""
        names = {identity: (schema, name) for schema, name, identity in self._catalog.tables()}
        described = {}
        for identity in ids:
            if identity not in names:
                continue
            schema, name = names[identity]
            table = self._catalog.table(schema, name)
            if table is not None:
                rows, blocks = self._catalog.sizes(schema, name) if sizes else (0, 0)
                leaf = Leaf(identity, schema, name, blocks, rows)
                described[identity] = StoredTable(
                    schema, name, table.columns, table.key, identity, (leaf,)
                )
        return TableReading(described)
