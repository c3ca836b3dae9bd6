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
    """What the role may do with a table, and what the log will hold of its old rows."""

    readable: bool
    row_security: bool
    owned: bool
    primary: tuple[str, ...]
    identity_index: tuple[str, ...]


class Checked(TableChecks[CatalogTable]):
    """The database that is looked at. `rights` are those on the captured tables, by oid."""

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
        """Whether the server follows another one."""
        return bool(self.rows("SELECT pg_is_in_recovery()")[0][0])

    @property
    def version(self) -> int:
        """The server's version, as in 160002."""
        return self.connection.info.server_version

    def quoted(self, *names: str) -> str:
        """A name of SQL, of one or more parts."""
        return SQL.dialect.quoted(*names)

    @cached_property
    def managed(self) -> Managed | None:
        """The service that runs the server, which a start asks for where it is refused only."""
        return find_service(self.connection, self.config.database_hostname)

    @property
    def role(self) -> str:
        """The connector's role as SQL writes it."""
        return self.quoted(self.config.database_user)
