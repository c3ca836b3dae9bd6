"""`source.xmin`: the slot's catalog_xmin, read every `xmin.fetch.interval.ms`."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import psycopg

from headrace.connect.deadline import Deadline
from headrace.connect.rows import NULL
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, KeptConnection
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_QUERY = b"SELECT catalog_xmin::text::bigint FROM pg_replication_slots WHERE slot_name = %s"
_PAUSE_SECONDS = 10.0  # after a failure, which may itself take as long as a login: 30 s


class SlotXmin:
    """The oldest transaction whose catalogue rows the slot retains, read at an interval; see
    headrace.streaming.streaming.EndMarks.

    Its value is part of the end offset of a range, because it is not a function of the log
    (Invariant 2c): a range that is planned again shows the same.
    """

    def __init__(self, config: PostgresConfig) -> None:
        self._config = config
        self._seconds = config.xmin_fetch_interval_ms / 1000
        self._due = Deadline(0)
        self._connection = KeptConnection(config, "headrace xmin", limit=QUERY_LIMIT)
        self.close = self._connection.close

    def shown(
        self, start: PostgresOffset, end: PostgresOffset, _memory: Callable[[int], memoryview]
    ) -> PostgresOffset:
        """Return `end` with the xmin that the records of (start, end] show."""
        if end == start:
            return end
        xmin = self._now(start.position.xmin) if self._seconds else None
        return replace(end, position=replace(end.position, xmin=xmin))

    def write(self, transactions: np.ndarray, end: PostgresPosition) -> None:
        """Let the transactions of the range that ends at `end` show the slot's xmin of that
        time."""
        transactions["xmin"] = NULL if end.xmin is None else end.xmin

    def _now(self, last_xmin: int | None) -> int | None:
        """The slot's xmin, or `last_xmin` before the interval has passed or if the server does not
        answer."""
        if not self._due.is_over:
            return last_xmin
        try:
            connection = self._connection.get()
            row = connection.execute(_QUERY, (self._config.slot_name,)).fetchone()
        except (HeadraceError, psycopg.Error) as error:
            log.warning("the xmin of the slot %s is not read: %s", self._config.slot_name, error)
            self.close()
            self._due.restart(max(self._seconds, _PAUSE_SECONDS))
            return last_xmin
        self._due.restart(self._seconds)
        return None if row is None else row[0]
