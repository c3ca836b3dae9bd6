"""The requirements of each start on tables and the redo."""

from __future__ import annotations

import logging
from collections.abc import Callable

from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.redo_state import (
    DatabaseState,
    container_error,
    failing_destination,
    log_mode_error,
    nologging,
    nologging_lobs,
    supplemental_error,
    unlogged,
    unlogged_tables,
)
from headrace.connectors.oracle.catalog.stored_tables import StoredTables
from headrace.connectors.oracle.checks.names import long_names
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.sql import ROOT
from headrace.relational.catalog import StoredTable
from headrace.relational.readiness import TableReadiness
from headrace.signals.kafka import check_settings
from headrace.snapshots.modes import SnapshotRule

log = logging.getLogger(__name__)


class Readiness:
    """Checks of the database at each start; they change nothing. `database` opens a connection
    where the tables are."""

    def __init__(
        self, config: OracleConfig, capture: Capture, database: Callable[[], Connection]
    ) -> None:
        self._config, self._capture, self._database = config, capture, database
        self._rule = SnapshotRule.of(config)
        self._tables = TableReadiness(CONNECTOR, config.catalog_name, config, capture)
        self.is_current = False
        """Whether `prepare` has checked the database since the last error."""
        self.captured: tuple[str, ...] = ()
        """The names of the captured tables as of `prepare`."""
        self.incarnation = ""
        """The database's incarnation (the SCN of its RESETLOGS) as of `prepare`: a new one begins
        when the database is restored and opened with RESETLOGS. Empty if changes are not read."""

    def prepare(self) -> list[StoredTable]:
        """Return the captured tables, in the order of snapshots; if changes are read, their redo
        has what is needed. Raises DriverError, and HeadraceError for what is missing."""
        with self._database() as connection:
            tables = self._read(connection)
            self._tables.require(tables)
            self._tables.require_events(tables)
            if self._rule.ever_reads:
                self._tables.warn_of_overrides()
            if self._rule.streams:
                check_settings(self._config)
                self._require_redo(connection, tables)
                self._warn_of_statements()
        self.captured = tuple(table.name for table in tables)
        self.is_current = True
        return tables

    def _read(self, connection: Connection) -> list[StoredTable]:
        catalog = StoredTables(connection)
        ids = [table.id for table in catalog.tables() if self._capture.takes(table.name)]
        tables = catalog.read(ids).tables.values()
        return sorted(tables, key=lambda table: self._capture.order(table.name))

    def _warn_of_statements(self) -> None:
        """Log a warning that names values that events hide and their statements show."""
        config = self._config
        hidden = {
            "column.mask.with.…": config.column_mask,
            "column.mask.hash.…": config.column_mask_hash or config.column_mask_hash_v2,
            "column.exclude.list": config.column_exclude_list,
            "column.include.list": config.column_include_list,
        }
        properties = [name for name, value in hidden.items() if value]
        if config.log_mining_include_redo_sql and properties:
            log.warning(
                "log.mining.include.redo.sql: source.redo_sql shows all columns, also those that "
                "%s hides",
                " and ".join(properties),
            )

    def _require_redo(self, connection: Connection, tables: list[StoredTable]) -> None:
        """Check that redo is archived and has rows; warns of tables whose redo lacks columns, and
        of names that LogMiner does not support."""
        lacking = unlogged_tables(connection, tables)
        if self._config.container is not None:
            connection.switch_to(ROOT)
        state = DatabaseState.read(connection)
        self.incarnation = str(state.resetlogs_scn)
        root = self._config.root
        for error in (log_mode_error(state, root), supplemental_error(state, root)):
            if error is not None:
                raise error
        container = self._config.container
        warnings = [
            container_error(state, container),
            failing_destination(connection, self._config),
        ]
        if lacking and state.supplemental_all != "YES":
            warnings.append(unlogged(lacking, container))
        if state.force_logging != "YES":
            if container is not None:
                connection.switch_to(container)
            warnings.append(nologging(connection, tables, container))
            if self._config.lob_enabled:
                warnings.append(nologging_lobs(connection, tables, container))
        for warning in filter(None, warnings):
            log.warning("%s", warning)
        for error in long_names(tables):
            log.warning("%s", error)
