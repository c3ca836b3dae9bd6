"""Metrics of incremental snapshots: by Debezium's names, with rate and remaining time."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.signals.progress import Key, Pending, key_text
from headrace.snapshots.incremental.rows import ReadChunk

log = logging.getLogger(__name__)

_LOG_SECONDS = 10.0
_RATE_SECONDS = 30.0


class IncrementalMetrics:
    """Metrics of the rows that this source process read. `estimates` returns rows by table, from
    the database's statistics; -1 without statistics."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.estimates: Callable[[Sequence[str]], Mapping[str, int]] | None = None
        self._state: str | None = None
        self._rows = 0
        self._table: str | None = None
        self._table_rows = 0
        self._chunk: ReadChunk | None = None
        self._table_from: Key | None = None
        self._number = 0
        self._pending: tuple[str, ...] = ()
        self._expected: dict[str, int] = {}
        self._recent: deque[tuple[float, int]] = deque()
        self._logged = 0.0

    def reads(self, chunk: ReadChunk, tables: Sequence[Pending]) -> None:
        """Note that a chunk of the first one of `tables` is read."""
        if self._state != "RUNNING":
            now = self._clock()
            if self._state != "PAUSED":
                self._rows = self._number = 0
            self._recent.clear()
            self._recent.append((now, self._rows))
            self._state, self._logged = "RUNNING", now
        pending = tuple(table.name for table in tables)
        if pending != self._pending:
            self._pending = pending
            missing = [name for name in pending if name not in self._expected]
            if missing and self.estimates is not None:
                self._expected |= self.estimates(missing)
        if chunk.table.name != self._table or chunk.lower is None:
            self._table, self._table_rows, self._table_from = chunk.table.name, 0, chunk.lower
        self._chunk = chunk
        self._number += 1

    def scanned(self, rows: int) -> None:
        """Note that the chunk's window closed."""
        now = self._clock()
        self._rows += rows
        self._table_rows += rows
        self._recent.append((now, self._rows))
        while len(self._recent) > 2 and now - self._recent[0][0] > _RATE_SECONDS:
            self._recent.popleft()
        if now - self._logged >= _LOG_SECONDS:
            self._logged = now
            remaining = self._remaining()
            log.info(
                "incremental snapshot: %d rows read, %d per second, now %s up to %s; %s",
                self._rows,
                self._rate() or 0,
                self._table,
                _text(self._chunk.upper if self._chunk else None),
                "the rest is not known" if remaining is None else f"about {remaining} s left",
            )

    def ended(self, state: str) -> None:
        """Note the end or a pause: COMPLETED, ABORTED or PAUSED."""
        if self._state != "RUNNING":
            return
        log.info("incremental snapshot: %s after %d rows", state.lower(), self._rows)
        self._state = state
        if state != "PAUSED":
            self._expected.clear()
            self._pending, self._table = (), None

    def _rate(self) -> float | None:
        if not self._recent:
            return None
        (began, before), (ended, after) = self._recent[0], self._recent[-1]
        return (after - before) / (ended - began) if ended > began else None

    def _remaining(self) -> int | None:
        """Return the remaining seconds; None without statistics or a rate."""
        rate = self._rate()
        expected = [self._expected.get(name, -1) for name in self._pending]
        if not rate or min(expected, default=-1) < 0:
            return None
        return round(max(0, sum(expected) - self._table_rows) / rate)

    def to_json(self) -> dict[str, Any] | None:
        """Return the metrics; None before the first incremental snapshot."""
        if self._state is None:
            return None
        running = self._state == "RUNNING"
        rate = self._rate()
        chunk = self._chunk if self._state in ("RUNNING", "PAUSED") else None
        return {
            "State": self._state,
            "ChunkId": None if chunk is None else str(self._number),
            "ChunkFrom": None if chunk is None else _text(chunk.lower),
            "ChunkTo": None if chunk is None else _text(chunk.upper),
            "TableFrom": None if chunk is None else _text(self._table_from),
            "TableTo": None if chunk is None else _text(chunk.maximum),
            "Table": self._table,
            "RemainingTableCount": len(self._pending),
            "RowsScanned": self._rows,
            "RowsPerSecond": round(rate) if running and rate is not None else None,
            "RemainingSeconds": self._remaining() if running else None,
        }


def _text(key: Key | None) -> str | None:
    return None if key is None else key_text(key)
