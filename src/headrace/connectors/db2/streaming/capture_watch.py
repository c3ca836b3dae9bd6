"""Watches whether Capture makes progress while the connector waits for it."""

from __future__ import annotations

from headrace.connect.deadline import Deadline
from headrace.connectors.db2.checks.replication import STALE_SECONDS, capture_error, warn_of
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection

_LOOK_SECONDS = STALE_SECONDS / 3


class CaptureWatch:
    """Logs a warning if Capture does not run, when the connector starts and while it waits for
    Capture: once each time that Capture stops, whichever check finds it. While the connector waits,
    the database is asked every `seconds`."""

    def __init__(self, config: Db2Config, seconds: float = _LOOK_SECONDS) -> None:
        self._config = config
        self._next = Deadline(seconds)
        self._is_stopped = False

    def look(self, connection: Connection) -> None:
        """Check Capture, called when there is nothing to read; no sooner than `seconds` after the
        last check. Raises like `capture_error`."""
        if not self._next.is_over:
            return
        self._next.restart()
        self.look_now(connection)

    def look_now(self, connection: Connection) -> None:
        """Check Capture at once. Raises like `capture_error`."""
        error = capture_error(connection, self._config)
        if error is not None and not self._is_stopped:
            warn_of(error)
        self._is_stopped = error is not None
