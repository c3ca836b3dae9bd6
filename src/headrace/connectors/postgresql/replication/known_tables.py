"""What the catalogue says of the tables that relation messages name."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogReading
from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.relational.known_tables import KnownTables


class LoggedTables(KnownTables[CatalogReading]):
    """Readings of the catalogue by the oid of a relation message; see KnownTables."""

    def __init__(self, catalog: Catalog, first: CatalogReading | None = None) -> None:
        super().__init__(catalog, first, CONNECTOR)
        self._tables = catalog

    def known(self, message: RelationMessage, xid: int) -> CatalogReading | None:
        """What the catalogue says of the table and its types to `xid`, a transaction of the log;
        None: it must be asked."""
        reading = self.reading_for(message.oid, xid)
        if reading is None or any(c.type_oid not in reading.types for c in message.columns):
            return None
        return reading

    def ask(self, messages: Iterable[RelationMessage], xid: int) -> None:
        """Begin to read what `messages` name, for a transaction and what follows it."""
        asked = list(messages)
        oids = [message.oid for message in asked]
        names = [(message.schema, message.table) for message in asked]
        types = [column.type_oid for message in asked for column in message.columns]
        self.begin_reading(oids, lambda: self._tables.read(oids, names=names, types=types), xid)
