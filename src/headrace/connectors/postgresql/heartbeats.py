"""heartbeat.action.query on PostgreSQL."""

from __future__ import annotations

import psycopg
from psycopg import pq

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, KeptConnection, translate
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.errors import HeadraceError
from headrace.relational.heartbeat_query import PROPERTY, Failure, HeartbeatQuery

_SEVERAL = "cannot insert multiple commands into a prepared statement"
_FAILURES = {
    "42P01": Failure.NO_TABLE,
    **dict.fromkeys(("57P01", "57P02", "57P03"), Failure.SERVER_GOES),
}


def heartbeat_query(config: PostgresConfig) -> HeartbeatQuery | None:
    """What runs with each heartbeat, if anything does."""
    if not config.heartbeat_action_query:
        return None
    kept = KeptConnection(config, "headrace heartbeat", limit=QUERY_LIMIT, users_sql=True)

    def execute(query: str) -> None:
        kept.get().execute(query.encode())

    def prepare(query: str) -> None:
        # Parse alone: of DML the server looks at tables and columns, and nothing runs.
        result = kept.get().pgconn.prepare(b"", query.encode())
        if result.status == pq.ExecStatus.FATAL_ERROR:
            error = psycopg.errors.error_from_result(result)
            if _SEVERAL not in str(error):
                raise error

    def explain(error: Exception) -> tuple[Failure, HeadraceError] | None:
        if not isinstance(error, psycopg.Error):
            return None
        failure = _FAILURES.get(error.sqlstate or "", Failure.OTHER)
        return failure, translate(error, config, PROPERTY, about=PROPERTY)

    return HeartbeatQuery(
        CONNECTOR, config.heartbeat_action_query, execute, explain, kept.close, prepare
    )
