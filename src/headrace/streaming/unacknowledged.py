"""The oldest change that the database was not told to forget yet."""

from __future__ import annotations

from collections import deque

import numpy as np

from headrace.spool.spool import Spool


class Unacknowledged:
    """Ranges that were planned and not acknowledged, and what the spool holds behind them."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._planned: deque[tuple[int, int]] = deque()
        self._acknowledged = 0

    def acknowledge(self, place: int) -> None:
        """Everything up to `place` is acknowledged."""
        self._acknowledged = max(self._acknowledged, place)

    def planned(self, upto: int, commit_us: int) -> None:
        """A range was planned: it is acknowledged with the place `upto`, and its first change was
        committed at `commit_us` (since 1970)."""
        if not self._planned or self._planned[-1][0] < upto:
            self._planned.append((upto, commit_us))

    def oldest(self) -> int | None:
        """Commit time (µs since 1970) of the oldest change that is not acknowledged; None: there is
        none. Planned ranges first, then what the spool holds."""
        while self._planned and self._planned[0][0] <= self._acknowledged:
            self._planned.popleft()
        if self._planned:
            return self._planned[0][1]
        with self._spool.lock:
            for piece in self._spool.pieces:
                transactions = piece.index.transactions_now()
                behind = np.flatnonzero(transactions["final_lsn"] >= self._acknowledged)
                if len(behind):
                    return int(transactions["commit_us"][behind[0]])
        return None
