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
    """ACCESS SHARE locks in a separate transaction. They block ALTER, TRUNCATE and DROP, but no
    reads or writes. They are taken before the snapshot: a table that is rewritten after it looks
    empty to the snapshot.

    A session that waits for them blocks headrace's other connections, so they are released after
    snapshot.lock.timeout.ms (`headrace.connectors.postgresql.ddl.lock_watch`).
    """

    def __init__(self, config: PostgresConfig, tables: Sequence[str]) -> None:
        """Raises HeadraceError("postgresql.lock_timeout"). `pid` is the process id of the
        session."""
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
        """Whether the session that holds the locks is open."""
        return not self._connection.closed

    def close(self) -> None:
        """Release the locks; never raises."""
        self._connection.close()
