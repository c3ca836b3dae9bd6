"""Finds rows by their keys, for look-ups of streamed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.reading.dialect import PRESENT, shown
from headrace.connectors.oracle.reading.kept_connection import kept_connection
from headrace.connectors.oracle.rows.images import images_of
from headrace.relational.reading.driver_rows import DriverRowQueries
from headrace.relational.reading.driver_snapshots import fetched
from headrace.relational.row_lookup import RowLookup
from headrace.relational.table import Column
from headrace.snapshots.image_block import ImageBlock


def row_lookup(config: OracleConfig) -> RowLookup:
    """Return the look-ups in the database of a configuration."""
    return RowLookup(OracleRows(config))


@dataclass(frozen=True)
class OracleRows:
    """The database of a configuration: a RowDatabase."""

    config: OracleConfig

    def open(self, *, patient: bool) -> OracleRowQueries:  # noqa: ARG002
        """See the protocol: database.query.timeout.ms limits every query."""
        session = kept_connection(self.config)
        session.get()
        return OracleRowQueries(session)


class OracleRowQueries(DriverRowQueries[Connection]):
    """RowQueries over one connection, of rows as they are now."""

    sql = PRESENT

    def _shown(self, columns: Sequence[Column]) -> list[str]:
        return shown(PRESENT, columns)

    def _block(
        self, connection: Connection, table: str, columns: Sequence[Column], statement: str
    ) -> ImageBlock | None:
        cursor = connection.cursor(statement, exact=True)
        rows = fetched(cursor)
        return images_of(table, columns, cursor.columns).block(rows) if rows else None
