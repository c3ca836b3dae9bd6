"""The heartbeats of the PostgreSQL connector: when, where, and their query."""

from __future__ import annotations

import logging
from dataclasses import replace

import psycopg

from headrace.connectors.heartbeats import HeartbeatSlice, HeartbeatTimer
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.places import heartbeat_part, ordinals_used
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_UNDEFINED_TABLE = "42P01"
_SERVER_GOES = ("57P01", "57P02", "57P03")


class Heartbeats:
    """The heartbeats of one connector."""

    def __init__(self, config: PostgresConfig) -> None:
        self._timer = HeartbeatTimer(config.heartbeat_interval_ms / 1000)
        query = config.heartbeat_action_query
        self._query = HeartbeatQuery(config, query) if query else None

    @staticmethod
    def of(config: PostgresConfig) -> Heartbeats | None:
        """None when there are none."""
        return Heartbeats(config) if config.heartbeat_interval_ms else None

    def remaining(self) -> float:
        """Seconds until the next one is due."""
        return self._timer.remaining()

    def beat(self, end: PostgresOffset) -> PostgresOffset:
        """`end` with a heartbeat before it; runs the query."""
        self._timer.restart()
        if self._query is not None:
            self._query.run()
        return replace(end, heartbeat=end.heartbeat + 1)

    def close(self) -> None:
        """Close the query's connection; never raises."""
        if self._query is not None:
            self._query.close()


def heartbeat_slice(end: PostgresOffset, topic: str) -> HeartbeatSlice:
    """The heartbeat before `end`, behind the last row (see `places`). A message outside of a
    transaction has the ordinal 0 at its position, so no heartbeat has its place."""
    inserts = 0 if end.signals is None else end.signals.ordinal
    place = (end.position.committed, 1, ordinals_used(end.heartbeat, inserts), 0)
    if end.position.transaction is not None:
        part = heartbeat_part(end.heartbeat)
        place = (end.position.transaction, 2, end.position.messages, part)
    return HeartbeatSlice(topic, end.server, end.sequences, *place)


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
