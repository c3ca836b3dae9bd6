"""heartbeat.action.query on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
from psycopg import pq

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, KeptConnection, translate
from headrace.connectors.postgresql.reading.dialect import SQLGLOT
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.errors import HeadraceError
from headrace.relational.heartbeat_query import PROPERTY, HeartbeatFailure, HeartbeatQuery

_LOOKED_AT = ("DELETE", "INSERT", "MERGE", "UPDATE", "VALUES")
"""Statements that change nothing that a later statement of the same query may need in order to be
parsed. A function in a SELECT may do so, and SELECT … INTO does."""
_FAILURES = {
    "42P01": HeartbeatFailure.NO_TABLE,
    **dict.fromkeys(("57P01", "57P02", "57P03"), HeartbeatFailure.SERVER_UNAVAILABLE),
}


def heartbeat_query(config: PostgresConfig) -> HeartbeatQuery | None:
    """Return the query that runs with each heartbeat; None if none is configured."""
    if not config.heartbeat_action_query:
        return None
    session = KeptConnection(config, "headrace heartbeat", limit=QUERY_LIMIT, users_sql=True)

    def execute(query: str) -> None:
        session.get().execute(query.encode())

    def prepare(query: str) -> None:
        # PREPARE checks the tables and columns of DML, EXPLAIN also the privileges; nothing is
        # executed. The protocol prepares one statement at a time.
        for statement in _statements(query):
            result = session.get().pgconn.prepare(b"", statement.encode())
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise psycopg.errors.error_from_result(result)
            if not statement.lstrip("( \n").upper().startswith(_LOOKED_AT):
                return  # later statements may need its result
            try:
                session.get().execute(f"EXPLAIN {statement}".encode())
            except psycopg.errors.InsufficientPrivilege:
                raise
            except psycopg.Error:
                pass  # a value that cannot be computed fails when the statement runs

    def explain(error: Exception) -> tuple[HeartbeatFailure, HeadraceError] | None:
        if not isinstance(error, psycopg.Error):
            return None
        failure = _FAILURES.get(error.sqlstate or "", HeartbeatFailure.OTHER)
        return failure, translate(error, config, PROPERTY, about=PROPERTY)

    return HeartbeatQuery(
        CONNECTOR, config.heartbeat_action_query, execute, explain, session.close, prepare
    )


def _statements(query: str) -> Iterator[str]:
    """The statements of a query. Never raises: a query that cannot be split is one statement, and
    the server reports what is wrong with it."""
    if ";" not in query:
        yield query
        return
    import sqlglot  # 0.2 s, seldom needed
    from sqlglot.errors import TokenError

    try:
        tokens = sqlglot.tokenize(query, read=SQLGLOT)
    except TokenError:
        yield query
        return
    start = 0
    ends = [token.start for token in tokens if token.token_type is sqlglot.TokenType.SEMICOLON]
    for end in (*ends, len(query)):
        if any(start <= token.start < end for token in tokens):
            yield query[start:end].strip()
        start = end + 1
