"""heartbeat.action.query on Oracle."""

from __future__ import annotations

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.errors import DriverError, translate
from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.reading.kept_connection import kept_connection
from headrace.errors import HeadraceError
from headrace.relational.heartbeat_query import PROPERTY, HeartbeatFailure, HeartbeatQuery

_NO_TABLE = 942
_EXPLAINED = ("INSERT", "UPDATE", "DELETE", "MERGE", "SELECT")
"""Statements that are checked with EXPLAIN PLAN."""
_UNAVAILABLE = frozenset({1033, 1034, 1089, 1090, 1092, 12514, 12528})
"""ORA codes of an instance that is shut down, or not open yet."""


def heartbeat_query(config: OracleConfig) -> HeartbeatQuery | None:
    """Return the query that runs with each heartbeat, in a transaction of its own, in the database
    that has the tables; None: it is not configured."""
    if not config.heartbeat_action_query:
        return None
    session = kept_connection(config)

    def execute(query: str) -> None:
        connection = session.get()
        connection.execute(sql.HEARTBEAT(action=query))
        connection.commit()

    def prepare(query: str) -> None:
        if not query.lstrip().upper().startswith(_EXPLAINED):
            return
        connection = session.get()
        try:
            connection.execute(sql.EXPLAIN_HEARTBEAT(action=query))
        finally:
            connection.rollback()

    def explain(error: Exception) -> tuple[HeartbeatFailure, HeadraceError] | None:
        explained = translate(error, config, PROPERTY, about=PROPERTY)
        if explained is None:
            return None
        assert isinstance(error, DriverError)
        if error.code == _NO_TABLE:
            return HeartbeatFailure.NO_TABLE, explained
        is_unavailable = error.code in _UNAVAILABLE or error.is_unreachable
        failure = HeartbeatFailure.SERVER_UNAVAILABLE if is_unavailable else HeartbeatFailure.OTHER
        return failure, explained

    return HeartbeatQuery(
        CONNECTOR, config.heartbeat_action_query, execute, explain, session.close, prepare
    )
