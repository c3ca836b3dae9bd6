"""A thread that watches the locks of a run: it reports the waits of the run's sessions, and
releases a snapshot's locks once another session has waited long enough for them."""

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
_PAUSE_SECONDS = 5.0  # after a failed look


class LockWatch:
    """A watch over the locks of a run. `report` is called with the lock that a session of the run
    waits for (see `present_wait`), and with None when no session waits any more."""

    def __init__(self, config: PostgresConfig, report: Callable[[str | None], None]) -> None:
        self._config, self._report = config, report
        self._locks: TableLocks | None = None
        self._ended = threading.Event()
        self._waits: str | None = None
        self._blocked: dict[int, float] = {}
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Start the thread, unless it runs already."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headrace-locks", daemon=True)
            self._thread.start()

    def guard(self, locks: TableLocks | None) -> None:
        """Release these locks once another session has waited for them for
        snapshot.lock.timeout.ms; None: the snapshot holds no locks."""
        self._blocked = {}
        self._locks = locks
        if locks is not None:
            self.begin()

    def _run(self) -> None:
        connection: psycopg.Connection | None = None
        pause = _LOOK_SECONDS
        while not self._ended.wait(pause):
            try:
                if connection is None or connection.closed:
                    connection = connect(
                        self._config,
                        application="headrace lock watch",
                        limit=CHECK_LIMIT,
                        at_most_ms=END_LIMIT_MS,
                    )
                self._look(connection)
                pause = _LOOK_SECONDS
            except (HeadraceError, psycopg.Error) as error:
                log.debug("locks cannot be looked at: %s", error)
                pause = _PAUSE_SECONDS
        if connection is not None:
            connection.close()

    def _look(self, connection: psycopg.Connection) -> None:
        waits = present_wait(connection, self._config.mark)
        if waits != self._waits and not self._ended.is_set():
            self._waits = waits
            if waits is not None:
                log.warning("%s", waits)
            self._report(waits)
        locks = self._locks
        if locks is None:
            return
        now = time.monotonic()
        blocked = sessions_blocked_by(connection, locks.pid, self._config.mark)
        self._blocked = {pid: self._blocked.get(pid, now) for pid in blocked}
        longest = max((now - since for since in self._blocked.values()), default=0.0)
        if (longest + _LOOK_SECONDS) * 1000 >= self._config.snapshot_lock_timeout_ms:
            log.warning(
                "another session waited for the snapshot's locks for snapshot.lock.timeout.ms: "
                "they are released, and the tables that it changes are read in their new state"
            )
            locks.close()
            self._locks = None

    def close(self) -> None:
        """End the thread; never raises."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(10)
        if self._waits is not None:
            self._waits = None
            self._report(None)
