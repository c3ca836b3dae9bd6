"""Sessions that wait for a lock on a table, or hold it. No query here waits for a lock."""

from __future__ import annotations

import psycopg

from headrace.connectors.postgresql.connection import LOCK_TIMEOUT, wait_text

_SQLSTATES = (LOCK_TIMEOUT, "40P01")
# Runs frequently; pg_locks is queried only if a session waits. A role sees the waits of its own
# sessions, and of other sessions only the names.
_WAITING = """
SELECT pid FROM pg_catalog.pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database() AND application_name LIKE %s
"""
# A session that waits for a row has a tuple lock, which shows the table. Indexes and TOAST tables
# are replaced by their table.
_WAITS = """
WITH waits AS (
  SELECT l.pid, coalesce(l.relation, (SELECT t.relation FROM pg_catalog.pg_locks t
    WHERE t.pid = l.pid AND t.locktype = 'tuple' AND t.granted LIMIT 1)) AS id
  FROM pg_catalog.pg_locks l WHERE NOT l.granted AND l.pid = ANY (%s))
SELECT n.nspname || '.' || c.relname, h.pid, coalesce(b.application_name, '')
FROM waits w CROSS JOIN unnest(pg_blocking_pids(w.pid)) h(pid)
LEFT JOIN pg_catalog.pg_stat_activity b ON b.pid = h.pid
LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = w.id
LEFT JOIN pg_catalog.pg_class o ON o.reltoastrelid = w.id AND w.id <> 0
JOIN pg_catalog.pg_class c ON c.oid = coalesce(x.indrelid, o.oid, w.id)
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY coalesce(b.application_name, '') LIKE %s, w.pid, h.pid LIMIT 1
"""
_BLOCKED_BY = """
SELECT pid FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND application_name NOT LIKE %s
  AND %s = ANY (pg_blocking_pids(pid))
"""


def is_lock_timeout(error: psycopg.Error) -> bool:
    """Whether a statement was cancelled because of another session's lock."""
    return error.sqlstate in _SQLSTATES


def present_wait(connection: psycopg.Connection, mark: str) -> str | None:
    """The text of the lock for which a session of the run with this `mark` (see
    `PostgresConfig.marked`) waits now, in any process; None if none waits. Raises psycopg.Error."""
    ours = _named(mark)
    waiting = [pid for (pid,) in connection.execute(_WAITING, (ours,)).fetchall()]
    if not waiting:
        return None
    row = connection.execute(_WAITS, (waiting, ours)).fetchone()
    return None if row is None else wait_text(*row)


def sessions_blocked_by(connection: psycopg.Connection, pid: int, mark: str) -> set[int]:
    """The process ids of the sessions that the session `pid` blocks, without those of the run with
    this `mark`. Raises psycopg.Error."""
    rows = connection.execute(_BLOCKED_BY, (_named(mark), pid)).fetchall()
    return {int(row[0]) for row in rows}


def _named(mark: str) -> str:
    """The LIKE pattern of the application names of a run; `mark` has hexadecimal digits only."""
    return f"% {mark}"
