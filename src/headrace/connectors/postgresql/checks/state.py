"""What the checks of a database share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, translate
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.findings import Findings
from headrace.snapshots.modes import SnapshotRule


@dataclass(frozen=True)
class Rights:
    """What the role may do with a table, and what the log will hold of its old rows."""

    readable: bool
    row_security: bool
    owned: bool
    primary: tuple[str, ...]
    identity_index: tuple[str, ...]


@dataclass
class Checked:
    """The database that is looked at. `tables` are the captured ones, `rights` by their oids."""

    config: PostgresConfig
    connection: psycopg.Connection
    findings: Findings
    capture: Capture
    tables: list[CatalogTable] = field(default_factory=list)
    rights: dict[int, Rights] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.config, self.connection, CHECK_LIMIT)
        self.rule = SnapshotRule.of(self.config)

    def ok(self, code: str, message: str) -> None:
        """A finding that needs nothing; codes are without the connector's name."""
        self.findings.add(f"{CONNECTOR}.{code}", "ok", message)

    def warn(self, code: str, message: str, remedy: str) -> None:
        """A finding with which the stream starts all the same."""
        self.findings.add(f"{CONNECTOR}.{code}", "warning", message, remedy)

    def refuse(self, code: str, message: str, remedy: str) -> None:
        """A finding with which the stream cannot start."""
        self.findings.add(f"{CONNECTOR}.{code}", "error", message, remedy)

    def rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        """What a query gives. Raises HeadraceError."""
        try:
            return self.connection.execute(query.encode(), values).fetchall()
        except psycopg.Error as error:
            raise translate(error, self.config, "Checking the database", CHECK_LIMIT) from None

    def is_standby(self) -> bool:
        """Whether the server follows another one."""
        return bool(self.rows("SELECT pg_is_in_recovery()")[0][0])

    @property
    def version(self) -> int:
        """The server's version, as in 160002."""
        return self.connection.info.server_version

    def quoted(self, *names: str) -> str:
        """A name of SQL, of one or more parts."""
        return sql.Identifier(*names).as_string(self.connection)

    @property
    def role(self) -> str:
        """The connector's role as SQL writes it."""
        return self.quoted(self.config.database_user)
