"""The common state of the checks of a database."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.catalog.managed import Managed, find_service
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.findings import Findings, Preconditions
from headrace.relational.checks import TableChecks
from headrace.snapshots.modes import SnapshotRule


@dataclass(frozen=True)
class Rights:
    """The role's rights on a table, and the columns of its old rows that the log will hold."""

    readable: bool
    row_security: bool
    owned: bool
    primary: tuple[str, ...]
    identity_index: tuple[str, ...]


class Checked(TableChecks[CatalogTable]):
    """The database that is checked. `rights` are those on the captured tables, by oid."""

    config: PostgresConfig
    capture: Capture
    catalog: Catalog

    def __init__(
        self, config: PostgresConfig, connection: psycopg.Connection, findings: Findings
    ) -> None:
        """Raises HeadraceError when the configuration's expressions contradict each other."""
        capture, database = Capture(config), config.database_dbname
        catalog = Catalog(config, connection, CHECK_LIMIT)
        super().__init__(CONNECTOR, database, config, capture, findings, catalog, capture.types)
        self.connection, self.rows = connection, catalog.rows
        self.rule = SnapshotRule.of(config)
        self.is_start = isinstance(findings, Preconditions)
        self.rights: dict[int, Rights] = {}

    def is_standby(self) -> bool:
        """Whether the server is a standby."""
        return bool(self.rows("SELECT pg_is_in_recovery()")[0][0])

    @property
    def version(self) -> int:
        """The server's version number, as in 160002."""
        return self.connection.info.server_version

    def quoted(self, *names: str) -> str:
        """A qualified name in SQL, of one or more parts, quoted."""
        return SQL.dialect.quoted(*names)

    @cached_property
    def managed(self) -> Managed | None:
        """The service that runs the server; a start determines it only for the remedy of a
        refusal."""
        return find_service(self.connection, self.config.database_hostname)

    @property
    def role(self) -> str:
        """The connector's role, quoted for SQL."""
        return self.quoted(self.config.database_user)
