"""The end of the server's log."""

from __future__ import annotations

import psycopg

from headrace.connect.deadline import Deadline
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect
from headrace.connectors.postgresql.position import parse_lsn

_FLUSH_SECONDS = 2.0
_LOOK_SECONDS = 0.05
_QUERY = (
    "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
    " ELSE pg_current_wal_{}_lsn() END)::text"
)


def inserted_log_end(connection: psycopg.Connection) -> int:
    """The LSN after the last record written, flushed or not; on a standby, after the last record
    replayed."""
    return _lsn(connection, "insert")


def flushed_log_end(config: PostgresConfig) -> int:
    """The LSN up to which the log can be sent; on a standby, up to which it was replayed. Waits up
    to 2 s for the flush of commits that are not flushed yet (synchronous_commit=off)."""
    with connect(config, limit=QUERY_LIMIT) as connection:
        inserted = _lsn(connection, "insert")
        deadline = Deadline(_FLUSH_SECONDS)
        while True:
            flushed = _lsn(connection, "flush")
            if flushed >= inserted or deadline.is_over:
                return min(flushed, inserted)
            deadline.pause(_LOOK_SECONDS)


def _lsn(connection: psycopg.Connection, which: str) -> int:
    row = connection.execute(_QUERY.format(which).encode()).fetchone()
    assert row is not None
    return parse_lsn(str(row[0]))
