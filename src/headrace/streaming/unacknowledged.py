"""The oldest change that was not acknowledged to the database yet."""

from __future__ import annotations

from collections import deque

import numpy as np

from headrace.connect.rows import are_before
from headrace.spool.spool import Spool


class Unacknowledged:
    """Ranges that were planned and not acknowledged, and the spool's changes after them."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._planned: deque[tuple[int, int]] = deque()
        self._acknowledged = 0

    def acknowledge(self, place: int) -> None:
        """Note that everything up to `place` is acknowledged."""
        self._acknowledged = max(self._acknowledged, place)

    def planned(self, up_to: int, commit_us: int) -> None:
        """Note that a range was planned: it is acknowledged with the place `up_to`, and its first
        change was committed at `commit_us` (since 1970)."""
        if not self._planned or self._planned[-1][0] < up_to:
            self._planned.append((up_to, commit_us))

    def oldest(self) -> int | None:
        """Return the commit time (µs since 1970) of the oldest change that is not acknowledged;
        None: no such change. Planned ranges come first, then the spool."""
        while self._planned and self._planned[0][0] <= self._acknowledged:
            self._planned.popleft()
        if self._planned:
            return self._planned[0][1]
        with self._spool.lock:
            for piece in self._spool.pieces:
                rows = piece.index.rows_now()
                if len(rows) and not are_before(rows[-1:], self._acknowledged)[0]:
                    first = rows[int(np.count_nonzero(are_before(rows, self._acknowledged)))]
                    return int(piece.index.transactions[first["transaction"]]["commit_us"])
        return None
