"""What the checks of a database find, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, translate
from headrace.errors import HeadraceError
from headrace.snapshots.modes import SnapshotRule

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """What was looked at. `level` error: the connector will not start, or will miss changes.

    `code` is dotted and stable; `remedy` is empty for `ok`.
    """

    code: str
    level: Level
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class Rights:
    """What the role may do with a table, and what the log will hold of its old rows."""

    readable: bool
    row_security: bool
    owned: bool
    primary: tuple[str, ...]
    identity_index: tuple[str, ...]


class Checks:
    """A connection to look with, and the findings so far."""

    _capture: Capture
    _catalog: Catalog

    def __init__(self, config: PostgresConfig) -> None:
        self.findings: list[Finding] = []
        self._config = config
        self._rule = SnapshotRule.of(config)
        self._connection: psycopg.Connection | None = None
        self._tables: list[CatalogTable] = []
        self._rights: dict[int, Rights] = {}

    def _guarded(self, part: Callable[[], None]) -> None:
        try:
            part()
        except HeadraceError as error:
            self._error(error)

    def _add(self, code: str, level: Level, message: str, remedy: str = "") -> None:
        self.findings.append(Finding(code, level, message, remedy))

    def _error(self, error: HeadraceError) -> None:
        self._add(error.code, "error", error.message, error.remedy)

    def _rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        assert self._connection is not None
        try:
            return self._connection.execute(query.encode(), values).fetchall()
        except psycopg.Error as error:
            raise translate(error, self._config, "Checking the database", CHECK_LIMIT) from None

    def _quoted(self, *names: str) -> str:
        return sql.Identifier(*names).as_string(self._connection)

    @property
    def _role(self) -> str:
        return self._quoted(self._config.database_user)
