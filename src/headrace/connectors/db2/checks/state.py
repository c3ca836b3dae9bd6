"""The common state of the checks of a database."""

from __future__ import annotations

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.catalog.stored_tables import StoredTables
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.events import CONNECTOR
from headrace.errors import HeadraceError
from headrace.findings import Findings
from headrace.offsets.offset import OffsetObject
from headrace.relational.catalog import StoredTable
from headrace.relational.checks import TableChecks
from headrace.snapshots.modes import SnapshotRule


class Checked(TableChecks[StoredTable]):
    """The database that is checked. `goes_on`: for a stream that continues from its checkpoint."""

    config: Db2Config
    capture: Capture

    def __init__(
        self,
        config: Db2Config,
        connection: Connection,
        findings: Findings,
        stored: OffsetObject | None = None,
    ) -> None:
        """Raises HeadraceError when the configuration's expressions contradict each other."""
        capture, database = Capture(config), config.database_dbname
        catalog = StoredTables(connection)
        super().__init__(CONNECTOR, database, config, capture, findings, catalog, capture.types)
        self.connection = connection
        self.rule = SnapshotRule.of(config)
        self.goes_on = self.rule.goes_on(stored)

    def require_of_tables(self, error: HeadraceError) -> None:
        """Add an error of a change table: it refuses a start that begins; a stream that continues
        gets it when it reads the table."""
        if self.goes_on:
            self.findings.add_foreseen(error)
        else:
            self.findings.add_error(error)
