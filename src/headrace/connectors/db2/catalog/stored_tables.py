"""Tables with the identities by which snapshots and checks know them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.connection import Connection
from headrace.relational.catalog import StoredTable, TableReading
from headrace.snapshots.tables import Leaf

_ID_BYTES = 6
_TABLE = 0  # the row of SQLStatistics that describes the table


def table_id(schema: str, name: str) -> int:
    """Return the id of a table: a number that depends only on its name, so that it is the same in
    every process. The driver's metadata have no ids."""
    text = f"{len(schema)}.{schema}.{name}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=_ID_BYTES).digest())


class StoredTables:
    """See headrace.relational.catalog.TableCatalog. Methods raise DriverError."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._catalog = connection, Catalog(connection)

    def tables(self) -> Sequence[StoredTable]:
        """Every table of the database, without columns and leaves."""
        return [
            StoredTable(schema, name, id=table_id(schema, name))
            for schema, name in self._catalog.tables()
        ]

    def read(self, ids: Iterable[int] = (), /, *, sizes: bool = False) -> TableReading[StoredTable]:
        """Return tables with columns, key and leaves. `sizes`: leaves have rows and pages from the
        database's statistics, 0 if it has none."""
        names = {table_id(*path): path for path in self._catalog.tables()}
        described = {}
        for identity in ids:
            if identity not in names:
                continue
            schema, name = names[identity]
            table = self._catalog.table(schema, name)
            if table is not None:
                rows, pages = self._sizes(schema, name) if sizes else (0, 0)
                leaf = Leaf(identity, schema, name, pages, rows)
                described[identity] = StoredTable(
                    schema, name, table.columns, table.key, identity, (leaf,)
                )
        return TableReading(described)

    def _sizes(self, schema: str, name: str) -> tuple[int, int]:
        """Return a table's rows and pages."""
        for row in self._connection.metadata("statistics", schema, name, False):
            if row["TYPE"] == _TABLE and (row["TABLE_SCHEM"].rstrip(), row["TABLE_NAME"]) == (
                schema,
                name,
            ):
                return max(int(row["CARDINALITY"] or 0), 0), max(int(row["PAGES"] or 0), 0)
        return 0, 0
