"""Limits how often a task tries again to get a lock that another session holds."""

from __future__ import annotations

import logging

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)


class Patience:
    """Each wait ends after snapshot.lock.timeout.ms; errors.max.retries says how many there are.
    What waits has no lock of its own, so nobody waits for it."""

    def __init__(self, config: PostgresConfig) -> None:
        self._limit, self._waits = config.errors_max_retries, 0

    def wait(self, error: HeadraceError) -> None:
        """A wait is over without the lock. Raises `error` when no other one may follow."""
        if 0 <= self._limit <= self._waits:
            raise error from None
        self._waits += 1
        log.warning("%s; trying again (%d)", error.message, self._waits)
