"""Whether server, role, tables and publication can serve, asked at each start."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import psycopg

from headrace.connectors.postgresql.catalog.catalog import CatalogReading, CatalogTable
from headrace.connectors.postgresql.checks.server import wal_level_error
from headrace.connectors.postgresql.checks.tables import no_privilege
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.connectors.postgresql.replication.publication import (
    check_published,
    drop_publication,
    drop_statement,
    ensure_publication,
)
from headrace.connectors.postgresql.replication.publication_watch import PublicationWatch
from headrace.connectors.postgresql.replication.replica_identity import set_identities
from headrace.connectors.postgresql.replication.slot import cluster_identifier, system_identifier
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.connectors.postgresql.starting.run import PostgresRun, undo_making
from headrace.errors import HeadraceError
from headrace.relational.readiness import TableReadiness
from headrace.signals.kafka import check_settings
from headrace.snapshots.modes import SnapshotRule

log = logging.getLogger(__name__)


class Readiness:
    """Asks the server; only `publish` changes something."""

    def __init__(self, run: PostgresRun) -> None:
        self._config, self._capture, self._catalog = run.config, run.capture, run.catalog
        self.rule = SnapshotRule.of(run.config)
        database = run.config.database_dbname
        self._tables = TableReadiness(CONNECTOR, database, run.config, run.capture)
        self.captured: tuple[str, ...] = ()
        """Names of the captured tables, since `prepare`."""
        self._reading: CatalogReading | None = None
        self.publication = PublicationWatch(run.config, run.capture.takes)

    def prepare(self, *, continues: bool = False) -> tuple[psycopg.Connection, list[CatalogTable]]:
        """A normal connection on a server that can serve us, and the captured tables. Where a
        checkpoint `continues`, statements that fail are reported: they hold up no stream."""
        connection = connect(self._config, limit=QUERY_LIMIT)
        try:
            self._reading, tables = self._read()
            if self.rule.streams:
                error = wal_level_error(self._catalog.setting("wal_level"))
                if error is not None:
                    raise error
                check_settings(self._config)
            self._tables.require(tables)
            self._check_privileges(connection, tables)
            self._tables.require_events(tables)
            if self.rule.ever_reads:
                self._tables.warn_of_overrides()
                try:
                    check_overrides(self._config)
                except HeadraceError as problem:
                    if not continues:
                        raise
                    log.warning("%s", problem)
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

    def _check_privileges(self, connection: psycopg.Connection, tables: list[CatalogTable]) -> None:
        hidden = connection.execute(
            "SELECT c.oid FROM pg_class c WHERE c.oid = ANY (%s::oid[])"
            " AND NOT has_table_privilege(c.oid, 'SELECT')",
            ([table.id for table in tables],),
        ).fetchall()
        for table in tables:
            if (table.id,) in hidden:
                raise no_privilege(self._config, table)

    def publish(
        self,
        connection: psycopg.Connection,
        tables: Sequence[CatalogTable],
        undo: ExitStack | None = None,
        *,
        begins: bool = True,
    ) -> None:
        """The captured tables get their replica identities (replica.identity.autoset.values) and
        their publication, and none of their changes get lost in silence: see
        publication.check_published. `undo` of the first start drops the publication, if made."""
        config, name = self._config, self._config.publication_name
        set_identities(connection, config.replica_identity_autoset_values, tables)
        made = ensure_publication(connection, config, [table.path for table in tables])
        if made and undo is not None:
            drop = partial(drop_publication, name=name)
            what, sql = f"the publication {name}", drop_statement(name)
            undo.callback(undo_making, config, what, sql, drop, connection)
        roots = self._catalog.partition_roots()
        absent = check_published(connection, config, tables, roots, begins=begins)
        self.publication.begin(absent)

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
