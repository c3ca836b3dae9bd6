"""The requirements of each start on tables and SQL replication."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import Registration, registrations
from headrace.connectors.db2.catalog.stored_tables import StoredTables
from headrace.connectors.db2.checks.change_tables import layout_error, updates_error
from headrace.connectors.db2.checks.replication import (
    captured_of,
    not_begun,
    read_control,
    registration_errors,
    warn_of,
)
from headrace.connectors.db2.checks.rights import no_privilege, refused
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.events import CONNECTOR
from headrace.connectors.db2.sql import newest_lsn
from headrace.connectors.db2.streaming.capture_watch import CaptureWatch
from headrace.errors import HeadraceError
from headrace.offsets.offset import OffsetObject
from headrace.relational.catalog import StoredTable
from headrace.relational.readiness import TableReadiness
from headrace.relational.table import Table
from headrace.signals.kafka import check_settings
from headrace.snapshots.modes import SnapshotRule


class Readiness:
    """Checks of the database at each start; they change nothing. `connect` opens a connection.
    Findings that are not errors are logged once, as warnings."""

    def __init__(
        self,
        config: Db2Config,
        capture: Capture,
        connect: Callable[[], Connection],
        watch: CaptureWatch,
    ) -> None:
        self._config, self._capture, self._connect = config, capture, connect
        self._watch = watch
        self._warnings: set[str] = set()
        self._rule = SnapshotRule.of(config)
        self._tables = TableReadiness(CONNECTOR, config.database_dbname, config, capture)
        self.is_current = False
        """Whether `prepare` has checked the database since the last error."""
        self.captured: tuple[str, ...] = ()
        """The names of the captured tables as of `prepare`."""
        self.registered: tuple[Registration, ...] = ()
        """The registrations of the captured tables as of `prepare`, if changes are read."""

    def prepare(self, stored: OffsetObject | None = None) -> list[StoredTable]:
        """Return the captured tables, in the order of snapshots. A stream that continues from a
        `stored` offset reads no table, and only warns of those that the user may not read. Raises
        DriverError, and HeadraceError for what is missing: if changes are read, also if no captured
        table is registered; problems of single registrations are warnings."""
        with self._connect() as connection:
            tables = self._read(connection)
            self._tables.require(tables)
            names = [table.path for table in tables]
            goes_on = self._rule.goes_on(stored)
            for name in refused(connection, self._config, names):
                error = no_privilege(self._config, *name, goes_on=goes_on)
                if not goes_on:
                    raise error
                self._warn(error)
            self._tables.require_events(tables)
            if self._rule.ever_reads:
                self._tables.warn_of_overrides()
            if self._rule.streams:
                check_settings(self._config)
                self._require_replication(connection, tables)
        self.captured = tuple(table.name for table in tables)
        self.is_current = True
        return tables

    def _read(self, connection: Connection) -> list[StoredTable]:
        catalog = StoredTables(connection)
        ids = [table.id for table in catalog.tables() if self._capture.takes(table.name)]
        tables = catalog.read(ids).tables.values()
        return sorted(tables, key=lambda table: self._capture.order(table.name))

    def _require_replication(self, connection: Connection, tables: Sequence[Table]) -> None:
        """Check that captured tables are registered, and that their change tables are those of SQL
        replication. Warns of unregistered tables if others are registered, and of a Capture that
        does not run: it may be started later."""
        config = self._config
        read_control(connection, config, newest_lsn(config))
        registered = registrations(connection, config)
        captured = captured_of(self._capture, registered)
        self.registered = tuple(captured)
        for error in registration_errors(config, tables, registered):
            if not captured:
                raise error
            self._warn(error)
        waiting = not_begun(config, tables, registered)
        if waiting is not None:
            self._warn(waiting)
        catalog = Catalog(connection)
        for registration in captured:
            columns = catalog.columns(registration.change_schema, registration.change_table)
            wrong = layout_error(registration, [column.name for column in columns])
            if wrong is not None and columns:
                raise wrong
            updates = updates_error(config, registration)
            if updates is not None:
                self._warn(updates)
        self._watch.look_now(connection)

    def _warn(self, error: HeadraceError) -> None:
        if error.message not in self._warnings:
            self._warnings.add(error.message)
            warn_of(error)
