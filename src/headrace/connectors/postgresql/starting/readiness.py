"""Whether server, role, tables and publication can serve, asked at each start."""

from __future__ import annotations

import logging

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import (
    Catalog,
    CatalogReading,
    CatalogTable,
)
from headrace.connectors.postgresql.checks.server import wal_level_error
from headrace.connectors.postgresql.checks.tables import no_privilege
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.connectors.postgresql.replication.publication import check_published
from headrace.connectors.postgresql.replication.replica_identity import set_identities
from headrace.connectors.postgresql.replication.slot import cluster_identifier, system_identifier
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.errors import HeadraceError
from headrace.relational.readiness import TableReadiness
from headrace.signals.kafka import check_settings
from headrace.snapshots.modes import SnapshotRule

log = logging.getLogger(__name__)


class Readiness:
    """Asks the server; changes nothing but replica identities, where it is told to."""

    def __init__(self, config: PostgresConfig, capture: Capture, catalog: Catalog) -> None:
        self._config, self._capture, self._catalog = config, capture, catalog
        self.rule = SnapshotRule.of(config)
        self._tables = TableReadiness(CONNECTOR, config.database_dbname, config, capture)
        self.captured: tuple[str, ...] = ()
        """Names of the captured tables, since `prepare`."""
        self._reading: CatalogReading | None = None

    def prepare(self) -> tuple[psycopg.Connection, list[CatalogTable]]:
        """A normal connection on a server that can serve us, and the captured tables."""
        connection = connect(self._config, limited=True)
        try:
            self._reading, tables = self._read()
            if self.rule.streams:
                self._check_level(connection)
                check_settings(self._config)
            self._tables.require(tables)
            self._check_privileges(connection, tables)
            self._tables.require_events(tables)
            if self.rule.at_first:
                self._tables.warn_of_overrides()
                check_overrides(self._config)
        except BaseException:
            connection.close()
            raise
        self.captured = tuple(table.name for table in tables)
        return connection, tables

    def _read(self) -> tuple[CatalogReading, list[CatalogTable]]:
        captured = [t for t in self._catalog.tables() if self._capture.takes(t.name)]
        reading = self._catalog.read([table.id for table in captured])
        described = (reading.describe(table.id) for table in captured)
        return reading, [table for table in described if table is not None]

    def reading_now(self) -> CatalogReading:
        """What the catalogue says of the captured tables: as `prepare` found it, or anew since
        `forget`."""
        if self._reading is None:
            self._reading, _ = self._read()
        return self._reading

    def forget(self) -> None:
        """What `prepare` found may be old by now."""
        self._reading = None

    def _check_level(self, connection: psycopg.Connection) -> None:
        level = connection.execute("SHOW wal_level").fetchone()
        error = wal_level_error(level[0] if level else "")
        if error is not None:
            raise error

    def set_identities(self, connection: psycopg.Connection, tables: list[CatalogTable]) -> None:
        """replica.identity.autoset.values"""
        rules = self._config.replica_identity_autoset_values
        set_identities(connection, rules, tables, log.warning)

    def _check_privileges(self, connection: psycopg.Connection, tables: list[CatalogTable]) -> None:
        rows = connection.execute(
            "SELECT c.oid FROM pg_class c WHERE c.oid = ANY (%s::oid[])"
            " AND NOT has_table_privilege(c.oid, 'SELECT')",
            ([table.id for table in tables],),
        ).fetchall()
        hidden = {row[0] for row in rows}
        for table in tables:
            if table.id in hidden:
                raise no_privilege(self._config, table)

    def check_published(
        self, connection: psycopg.Connection, tables: list[CatalogTable], *, first: bool
    ) -> None:
        """No captured table's changes get lost in silence; see publication.check_published."""
        roots = self._catalog.partition_roots()
        check_published(connection, self._config, tables, roots, log.warning, first=first)

    def cluster(self, connection: psycopg.Connection) -> str:
        """The cluster's system identifier; a replication connection is only asked when the log is
        to be read."""
        if not self.rule.streams:
            return cluster_identifier(connection)
        with connect(self._config, replication=True) as replication:
            return system_identifier(replication)


def check_system(stored: PostgresOffset, system: str) -> None:
    """Refuses a checkpoint of another cluster."""
    if stored.system and stored.system != system:
        raise HeadraceError(
            "postgresql.other_server",
            f"The checkpoint belongs to the PostgreSQL cluster {stored.system}, this is {system}",
            "Point database.hostname to that cluster, or start with a new checkpoint.",
        )
