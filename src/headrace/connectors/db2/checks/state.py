"""What the checks of a database share."""

from __future__ import annotations

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.catalog.stored_tables import StoredTables
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.events import CONNECTOR
from headrace.findings import Findings
from headrace.relational.catalog import StoredTable
from headrace.relational.checks import TableChecks
from headrace.snapshots.modes import SnapshotRule


class Checked(TableChecks[StoredTable]):
    """The database that is looked at. `captured` are the names of the tables that are."""

    config: Db2Config
    capture: Capture

    def __init__(self, config: Db2Config, connection: Connection, findings: Findings) -> None:
        """Raises HeadraceError when the configuration's expressions contradict each other."""
        capture, database = Capture(config), config.database_dbname
        catalog = StoredTables(connection)
        super().__init__(CONNECTOR, database, config, capture, findings, catalog, capture.types)
        self.connection = connection
        self.rule = SnapshotRule.of(config)
