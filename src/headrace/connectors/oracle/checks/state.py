"""The common state of the checks of a database."""

from __future__ import annotations

from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.stored_tables import StoredTables
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.properties.connection import stored_name
from headrace.connectors.oracle.sql import ROOT, quoted, remedy_in
from headrace.findings import Findings
from headrace.offsets.offset import OffsetObject
from headrace.relational.catalog import StoredTable
from headrace.relational.checks import TableChecks
from headrace.snapshots.modes import SnapshotRule


class Checked(TableChecks[StoredTable]):
    """The database that is checked. `goes_on`: whether the stream continues from its checkpoint."""

    config: OracleConfig
    capture: Capture

    def __init__(
        self,
        config: OracleConfig,
        connection: Connection,
        findings: Findings,
        stored: OffsetObject | None = None,
    ) -> None:
        """Raises HeadraceError when the configuration's expressions contradict each other."""
        capture = Capture(config)
        catalog = StoredTables(connection)
        super().__init__(
            CONNECTOR, config.catalog_name, config, capture, findings, catalog, capture.types
        )
        self.connection = connection
        self.rule = SnapshotRule.of(config)
        self.goes_on = self.rule.goes_on(stored)

    def where_tables_are(self, remedy: str) -> str:
        """See TableChecks."""
        return remedy_in(self.config.container, remedy)

    def in_root(self) -> Connection:
        """Return the connection in the root, where the redo is read. Raises DriverError."""
        if self.config.container is not None:
            self.connection.switch_to(ROOT)
        return self.connection

    def in_database(self) -> Connection:
        """Return the connection where the tables are. Raises DriverError."""
        if self.config.container is not None:
            self.connection.switch_to(self.config.container)
        return self.connection


def user_name(config: OracleConfig) -> str:
    """Return the user, as statements name it."""
    return quoted(stored_name(config.database_user))


def granted(config: OracleConfig, *what: str) -> str:
    """Return the statements that grant rights to the user: from the root, in all containers."""
    everywhere = " CONTAINER=ALL" if config.database_pdb_name else ""
    grants = (f"GRANT {privilege} TO {user_name(config)}{everywhere};" for privilege in what)
    return remedy_in(config.root, " ".join(grants))


def granted_there(config: OracleConfig, *what: str) -> str:
    """Return the statements that grant rights on tables, where the tables are."""
    grants = (f"GRANT {privilege} TO {user_name(config)};" for privilege in what)
    return remedy_in(config.container, " ".join(grants))
