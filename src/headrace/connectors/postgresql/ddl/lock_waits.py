"""Who waits for a lock on a table, and who keeps it. No query here waits for one."""

from __future__ import annotations

import psycopg

from headrace.connectors.postgresql.connection import LOCK_TIMEOUT, lock_wait

_SQLSTATES = (LOCK_TIMEOUT, "40P01")
_WAITS = """
SELECT n.nspname || '.' || c.relname, b.pid, b.application_name
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity s ON s.pid = l.pid
JOIN pg_catalog.pg_class c ON c.oid = l.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_stat_activity b ON b.pid = ANY (pg_blocking_pids(l.pid))
WHERE NOT l.granted AND l.locktype = 'relation' AND s.datname = current_database()
  AND s.usename = current_user AND s.application_name LIKE 'headrace%'
ORDER BY l.pid, b.pid LIMIT 1
"""
_BLOCKED_BY = """
SELECT pid FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND application_name NOT LIKE 'headrace%%'
  AND %s = ANY (pg_blocking_pids(pid))
"""


def is_lock_timeout(error: psycopg.Error) -> bool:
    """Whether a statement was given up because of another session's lock."""
    return error.sqlstate in _SQLSTATES


def present_wait(connection: psycopg.Connection) -> str | None:
    """In words, which lock a session of ours waits for now; None: none does."""
    return lock_wait(connection, _WAITS)


def sessions_blocked_by(connection: psycopg.Connection, pid: int) -> set[int]:
    """The process ids of other programs' sessions that wait for the session `pid`."""
    return {int(row[0]) for row in connection.execute(_BLOCKED_BY, (pid,)).fetchall()}
