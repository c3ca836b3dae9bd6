"""Limits how often a task tries again to get a lock that another session holds."""

from __future__ import annotations

import logging

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)


class Patience:
    """Repeated waits for a lock: each ends after snapshot.lock.timeout.ms, and errors.max.retries
    limits their number. The waiting transaction has no lock, so it blocks nobody."""

    def __init__(self, config: PostgresConfig) -> None:
        self._limit, self._waits = config.errors_max_retries, 0

    def wait(self, error: HeadraceError) -> None:
        """Count a wait that ended without the lock. Raises `error` when the limit is reached."""
        if 0 <= self._limit <= self._waits:
            raise error from None
        self._waits += 1
        log.warning("%s; trying again (%d)", error.message, self._waits)
