"""Backpressure of the spool: its writer waits for room and logs a warning if that takes long."""

from __future__ import annotations

import logging
import time

from headrace.spool.spool import Spool

log = logging.getLogger(__name__)

WARNING_SECONDS = 10.0
"""Seconds without room after which the writer logs a warning."""
REPEAT_SECONDS = 60.0
"""Least seconds between two warnings."""


class Backpressure:
    """Reports whether the writer of `spool` waits for room; only the writer changes it."""

    def __init__(self, spool: Spool) -> None:
        self.blocked = False
        self._spool = spool
        self._warns_at = self._silent_until = 0.0

    def waits(self, size: int) -> bool:
        """Whether there is no room for `size` bytes; the writer calls it until there is."""
        now = time.monotonic()
        if self._spool.has_room(size):
            self.blocked = False
        elif not self.blocked:
            self.blocked = True
            self._warns_at = max(now + WARNING_SECONDS, self._silent_until)
            with self._spool.lock:
                self._spool.lock.notify_all()
        elif now >= self._warns_at:
            self._warns_at = self._silent_until = now + REPEAT_SECONDS
            log.warning(
                "The log waits on the server, because the spool (headrace.spool.max.bytes=%d) has "
                "been full for %.0f s or longer: micro-batches take less than the server sends",
                self._spool.max_bytes,
                WARNING_SECONDS,
            )
        return self.blocked
