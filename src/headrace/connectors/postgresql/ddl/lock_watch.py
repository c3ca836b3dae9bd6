"""Looks after locks while a snapshot is read, in a thread of its own: reports what our sessions
wait for, and gives our own locks up to whoever waited for them long enough."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import CHECK_LIMIT, END_LIMIT_MS, connect
from headrace.connectors.postgresql.ddl.lock_waits import present_wait, sessions_blocked_by
from headrace.connectors.postgresql.ddl.locks import TableLocks
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5


class LockWatch:
    """`report` is given what a session of ours waits for, and None when none does any more."""

    def __init__(
        self,
        config: PostgresConfig,
        report: Callable[[str | None], None],
        locks: TableLocks | None,
    ) -> None:
        self._config, self._report, self._locks = config, report, locks
        self._ended = threading.Event()
        self._waits: str | None = None
        self._blocked: dict[int, float] = {}
        self._thread = threading.Thread(target=self._run, name="headrace-locks", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        connection: psycopg.Connection | None = None
        while not self._ended.wait(_LOOK_SECONDS):
            try:
                if connection is None or connection.closed:
                    connection = connect(
                        self._config,
                        application="headrace lock watch",
                        limit=CHECK_LIMIT,
                        at_most_ms=END_LIMIT_MS,
                    )
                self._look(connection)
            except (HeadraceError, psycopg.Error) as error:
                log.debug("locks cannot be looked at: %s", error)
        if connection is not None:
            connection.close()

    def _look(self, connection: psycopg.Connection) -> None:
        waits = present_wait(connection)
        if waits != self._waits and not self._ended.is_set():
            self._waits = waits
            if waits is not None:
                log.warning("%s", waits)
            self._report(waits)
        locks = self._locks
        if locks is None:
            return
        now = time.monotonic()
        blocked = sessions_blocked_by(connection, locks.pid)
        self._blocked = {pid: self._blocked.get(pid, now) for pid in blocked}
        longest = max((now - since for since in self._blocked.values()), default=0.0)
        if (longest + _LOOK_SECONDS) * 1000 >= self._config.snapshot_lock_timeout_ms:
            log.warning(
                "another session waited for the snapshot's locks for snapshot.lock.timeout.ms: "
                "they are given up, and tables that it changes are read as they are then"
            )
            locks.close()
            self._locks = None

    def close(self) -> None:
        """End the thread; never raises."""
        self._ended.set()
        self._thread.join(10)
        if self._waits is not None:
            self._waits = None
            self._report(None)
