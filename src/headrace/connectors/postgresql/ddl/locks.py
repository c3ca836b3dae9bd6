"""snapshot.locking.mode: locks that keep the structure of tables while their rows are read."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate

log = logging.getLogger(__name__)


class TableLocks:
    """ACCESS SHARE locks in a transaction of their own. They hold off ALTER, TRUNCATE and DROP,
    never reading or writing. They are taken before the snapshot: a table that was rewritten
    after it looks empty to it.

    A session that waits for them makes our other connections wait for it, so after
    snapshot.lock.timeout.ms they are given up (`headrace.connectors.postgresql.ddl.lock_watch`).
    """

    def __init__(self, config: PostgresConfig, tables: Sequence[str]) -> None:
        """Raises HeadraceError("postgresql.lock_timeout"). `pid` is the session's."""
        self._connection = connect(config, application="headrace snapshot locks")
        self.pid = self._connection.info.backend_pid
        try:
            self._connection.execute("BEGIN READ ONLY")
            for table in tables:
                self._lock(table)
        except psycopg.Error as error:
            self._connection.close()
            raise translate(error, config, "Locking the tables") from None

    def _lock(self, table: str) -> None:
        name = sql.Identifier(*table.split(".", 1)).as_string()
        try:
            with self._connection.transaction():  # a savepoint
                self._connection.execute(f"LOCK TABLE {name} IN ACCESS SHARE MODE".encode())
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            log.warning("%s no longer exists; it is not locked", table)

    @property
    def is_held(self) -> bool:
        """Whether the session that has them is open."""
        return not self._connection.closed

    def close(self) -> None:
        """Let them go; never raises."""
        self._connection.close()
