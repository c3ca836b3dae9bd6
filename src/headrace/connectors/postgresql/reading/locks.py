"""snapshot.locking.mode: locks that keep the structure of tables while their rows are read."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.errors import HeadraceError


class TableLocks:
    """ACCESS SHARE locks in a transaction of their own. They hold off ALTER, TRUNCATE and DROP,
    never reading or writing. They are taken before the snapshot: a table that was rewritten
    after it looks empty to it.

    A session that waits for them makes our other connections wait for it, so after
    snapshot.lock.timeout.ms the snapshot gives way and goes on behind the change, with a new one.
    """

    def __init__(self, config: PostgresConfig, tables: Sequence[str]) -> None:
        """Raises HeadraceError("postgresql.lock_timeout")."""
        self._connection = connect(config, application="headrace snapshot locks")
        try:
            self._connection.execute("BEGIN READ ONLY")
            for table in tables:
                name = SQL.dialect.quoted(*table.split(".", 1))
                self._connection.execute(f"LOCK TABLE {name} IN ACCESS SHARE MODE".encode())
        except psycopg.Error as error:
            self._connection.close()
            if error.sqlstate == "55P03":
                raise HeadraceError(
                    "postgresql.lock_timeout",
                    f"Within {config.snapshot_lock_timeout_ms} ms {table} could not be locked: "
                    "another session changes it",
                    "It is tried again (errors.max.retries); or raise snapshot.lock.timeout.ms, or "
                    "set snapshot.locking.mode=none.",
                    retriable=True,
                ) from None
            raise translate(error, config, "Locking the tables") from None

    def close(self) -> None:
        """Let them go; never raises."""
        self._connection.close()
