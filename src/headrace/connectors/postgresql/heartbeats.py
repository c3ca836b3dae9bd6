"""heartbeat.action.query: SQL that runs with each heartbeat."""

from __future__ import annotations

import logging

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_UNDEFINED_TABLE = "42P01"
_SERVER_GOES = ("57P01", "57P02", "57P03")


class HeartbeatQuery:
    """`heartbeat.action.query`: SQL that runs with each heartbeat, on a connection of its own.

    It is there for logs that do not move, or not in this database: a write to a table of the
    publication makes the slot move.
    """

    def __init__(self, config: PostgresConfig, query: str) -> None:
        self._config, self._query = config, query
        self._connection: psycopg.Connection | None = None

    def run(self) -> None:
        """Run it once. What it fails with is a warning, and the next heartbeat tries again, but:

        Raises HeadraceError("postgresql.heartbeat_table") when a table of the query is missing,
        and a retriable error when the server shuts down or starts up.
        """
        try:
            if self._connection is None:
                self._connection = connect(
                    self._config, application="headrace heartbeat", users_sql=True
                )
                limit = self._config.database_query_timeout_ms
                self._connection.execute(f"SET statement_timeout = {limit}".encode())
            self._connection.execute(self._query.encode())
        except psycopg.Error as error:
            self.close()
            if error.sqlstate == _UNDEFINED_TABLE:
                raise HeadraceError(
                    "postgresql.heartbeat_table",
                    f"heartbeat.action.query failed: {error.diag.message_primary}",
                    "Create the table, or correct heartbeat.action.query.",
                ) from None
            if error.sqlstate in _SERVER_GOES:
                raise translate(error, self._config, "heartbeat.action.query") from None
            log.warning(
                "heartbeat.action.query failed (SQLSTATE %s): %s",
                error.sqlstate or "none",
                error.diag.message_primary or error,
            )

    def close(self) -> None:
        """Close the connection; never raises."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()
