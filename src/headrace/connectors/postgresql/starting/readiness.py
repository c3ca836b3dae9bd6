"""Checks at each start that server, role, tables and publication are suitable."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import psycopg

from headrace.connectors.postgresql.catalog.catalog import CatalogReading, CatalogTable
from headrace.connectors.postgresql.catalog.managed import find_service
from headrace.connectors.postgresql.checks.server import wal_level_error
from headrace.connectors.postgresql.checks.tables import no_privilege, unreadable
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.reading.overrides import check_overrides
from headrace.connectors.postgresql.replication.publication import (
    PRIVILEGE,
    check_published,
    drop_publication,
    drop_statement,
    ensure_publication,
    find_publication,
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
    """The checks of the server at a start; only `publish` changes anything."""

    def __init__(self, run: PostgresRun) -> None:
        self._config, self._capture, self._catalog = run.config, run.capture, run.catalog
        self.rule = SnapshotRule.of(run.config)
        database = run.config.database_dbname
        self._tables = TableReadiness(CONNECTOR, database, run.config, run.capture)
        self.captured: tuple[str, ...] = ()
        """Names of the captured tables, set by `prepare`."""
        self._reading: CatalogReading | None = None
        self.publication = PublicationWatch(run.config, run.capture.takes)

    def prepare(
        self, stored: PostgresOffset | None = None
    ) -> tuple[psycopg.Connection, list[CatalogTable]]:
        """Return a normal connection to a suitable server, and the captured tables. A start from a
        `stored` offset only warns of statements that fail; if the stream continues, which reads no
        table, it only warns of tables that the role may not read."""
        connection = connect(self._config, limit=QUERY_LIMIT)
        try:
            self._reading, tables = self._read()
            if self.rule.streams:
                error = wal_level_error(
                    self._catalog.setting("wal_level"),
                    lambda: find_service(connection, self._config.database_hostname),
                )
                if error is not None:
                    raise error
                check_settings(self._config)
            self._tables.require(tables)
            self._check_privileges(connection, tables, goes_on=self.goes_on(stored))
            self._tables.require_events(tables)
            if self.rule.ever_reads:
                self._tables.warn_of_overrides()
                try:
                    check_overrides(self._config)
                except HeadraceError as problem:
                    if stored is None or stored.is_initial:
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
        """The catalogue's description of the captured tables: from `prepare`, or read again after
        `forget`."""
        if self._reading is None:
            self._reading, _ = self._read()
        return self._reading

    def forget(self) -> None:
        """Discard the description of `prepare`, which may be outdated."""
        self._reading = None

    def _check_privileges(
        self, connection: psycopg.Connection, tables: list[CatalogTable], *, goes_on: bool
    ) -> None:
        for table in unreadable(connection, tables):
            error = no_privilege(self._config, table, goes_on=goes_on)
            if not goes_on:
                raise error
            log.warning("%s", error)

    def goes_on(self, stored: PostgresOffset | None) -> bool:
        """Whether the stream continues from a stored offset, without a snapshot."""
        begins = stored is None or stored.is_initial or stored.snapshot is not None
        return not begins and self.rule.streams and not self.rule.at_every

    def publish(
        self,
        connection: psycopg.Connection,
        tables: Sequence[CatalogTable],
        undo: ExitStack | None = None,
        *,
        begins: bool = True,
    ) -> None:
        """Set the replica identities of the captured tables (replica.identity.autoset.values) and
        prepare their publication, so that none of their changes is lost silently: see
        publication.check_published. `undo` of the first start drops a publication that was
        created."""
        config, name = self._config, self._config.publication_name
        set_identities(connection, config.replica_identity_autoset_values, tables)
        is_created = self._make_publication(connection, tables, begins=begins)
        if is_created and undo is not None:
            drop = partial(drop_publication, name=name)
            object_name, sql = f"the publication {name}", drop_statement(name)
            undo.callback(undo_making, config, object_name, sql, drop, connection)
        roots = self._catalog.partition_roots()
        absent = check_published(connection, config, tables, roots, begins=begins)
        self.publication.begin(absent)

    def _make_publication(
        self, connection: psycopg.Connection, tables: Sequence[CatalogTable], *, begins: bool
    ) -> bool:
        """Call ensure_publication. A stream that continues accepts a publication that the role may
        not change, with a warning: a new table may belong to another role."""
        config = self._config
        try:
            return ensure_publication(connection, config, [table.path for table in tables])
        except HeadraceError as error:
            is_there = find_publication(connection, config.publication_name) is not None
            if begins or error.code != PRIVILEGE or not is_there:
                raise
            log.warning("%s", error)
            return False

    def cluster(self, connection: psycopg.Connection) -> str:
        """The cluster's system identifier; opens a replication connection only if the log will be
        read."""
        if not self.rule.streams:
            return cluster_identifier(connection)
        with connect(self._config, replication=True) as replication:
            return system_identifier(replication)


def check_system(stored: PostgresOffset, system: str) -> None:
    """Refuse a checkpoint of another cluster."""
    if stored.system and stored.system != system:
        raise HeadraceError(
            "postgresql.other_server",
            f"The checkpoint belongs to the PostgreSQL cluster {stored.system}, this is {system}",
            "Point database.hostname to that cluster, or start with a new checkpoint.",
        )
