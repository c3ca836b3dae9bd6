"""What each start requires of SQL replication, and how long Capture may stand still."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from headrace.connect.deadline import Deadline
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.checks.change_tables import layout_error
from headrace.connectors.db2.checks.replication import (
    STALE_SECONDS,
    capture_error,
    registration_errors,
)
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.errors import HeadraceError
from headrace.relational.table import Table

log = logging.getLogger(__name__)

_LOOK_SECONDS = STALE_SECONDS / 3


def require_replication(
    connection: Connection,
    config: Db2Config,
    tables: Sequence[Table],
    registered: Sequence[Registration],
) -> None:
    """That captured tables are registered, and their change tables those of SQL replication. A
    warning tells of tables that are not registered where others are, and of a Capture that does not
    run: it may be started later.

    Raises DriverError, and HeadraceError: `db2.no_control_tables`, `db2.not_registered`,
    `db2.no_change_table`, `db2.change_table_altered`.
    """
    captured = {table.path for table in tables}
    own = [one for one in registered if (one.source_schema, one.source_table) in captured]
    for error in registration_errors(config, tables, registered):
        if not own:
            raise error
        _warn(error)
    catalog = Catalog(connection)
    for one in own:
        columns = catalog.columns(one.change_schema, one.change_table)
        wrong = layout_error(one, [column.name for column in columns])
        if wrong is not None:
            raise wrong
    stopped = capture_error(connection, config)
    if stopped is not None:
        _warn(stopped)


class CaptureWatch:
    """Warns, once each time, of a Capture that stands still while the connector waits for it."""

    def __init__(self, config: Db2Config) -> None:
        self._config = config
        self._next = Deadline(_LOOK_SECONDS)
        self._is_stopped = False

    def look(self, connection: Connection) -> None:
        """Call it where there is nothing to read; it asks the database once a minute. Raises as
        `capture_error`."""
        if not self._next.is_over:
            return
        self._next.restart()
        error = capture_error(connection, self._config)
        if error is not None and not self._is_stopped:
            _warn(error)
        self._is_stopped = error is not None


def _warn(error: HeadraceError) -> None:
    log.warning("%s [%s]. %s", error.message, error.code, error.remedy)
