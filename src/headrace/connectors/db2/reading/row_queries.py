"""Finds rows by their keys, for look-ups of streamed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.reading.dialect import SQL, bound
from headrace.connectors.db2.reading.kept_connection import kept_connection
from headrace.connectors.db2.rows.images import images_at
from headrace.connectors.db2.sql import readable
from headrace.relational.reading.driver_rows import DriverRowQueries
from headrace.relational.row_lookup import RowLookup
from headrace.relational.table import Column
from headrace.snapshots.image_block import ImageBlock


def row_lookup(config: Db2Config) -> RowLookup:
    """Return the look-ups in the database of a configuration."""
    return RowLookup(Db2Rows(config))


@dataclass(frozen=True)
class Db2Rows:
    """The database of a configuration: a RowDatabase."""

    config: Db2Config

    def open(self, *, patient: bool) -> Db2RowQueries:  # noqa: ARG002
        """See the protocol: database.query.timeout.ms limits every query."""
        session = kept_connection(self.config)
        session.get()
        return Db2RowQueries(session)


class Db2RowQueries(DriverRowQueries[Connection]):
    """RowQueries over one connection."""

    sql = SQL

    def _shown(self, columns: Sequence[Column]) -> list[str]:
        return [readable(column) for column in columns]

    def _block(
        self, connection: Connection, table: str, columns: Sequence[Column], statement: str
    ) -> ImageBlock | None:
        rows = connection.rows(*bound(statement))
        return images_at(table, columns).block(rows) if rows else None
