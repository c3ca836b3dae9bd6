"""The commit times of transactions: IBMSNAP_UOW, read along with the changes of a window.

A transaction without a row in IBMSNAP_UOW (Capture may have pruned it) has the time of the next
transaction with a row, which is the same at every reading. If none follows, it has the server's
time of the reading.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.connectors.db2.clock import Clock
from headrace.connectors.db2.streaming.change_table import RowCursor
from headrace.connectors.db2.streaming.lsn_columns import NO_LSNS, LsnColumn

_COMMIT, _LOGMARKER = range(2)


class CommitTimes:
    """The times of one window's transactions. `cursor` returns rows of IBMSNAP_COMMITSEQ and
    IBMSNAP_LOGMARKER (datetime, or a text of one, as `clock` shows it) in the order of the former;
    `later_time` returns the time of the commits after those rows, in microseconds since 1970 UTC.
    Only the rows of one fetch are in memory."""

    def __init__(
        self,
        cursor: RowCursor,
        fetch_rows: int,
        clock: Clock,
        later_time: Callable[[], int],
    ) -> None:
        self._cursor, self._fetch_rows, self._read_later_time = cursor, fetch_rows, later_time
        self._clock = clock
        self._commits, self._times = NO_LSNS, np.zeros(0, np.int64)
        self._later_time: int | None = None

    def of(self, commits: LsnColumn) -> np.ndarray:
        """Return microseconds since 1970 UTC (int64) of each of these commits, which are in order,
        and not before those of earlier calls."""
        count = len(commits.low)
        times = np.empty(count, np.int64)
        timed = 0
        while timed < count:
            loaded, requested = _numbers(self._commits, commits.take(slice(timed, None)))
            reach = int(np.searchsorted(requested, loaded[-1], "right")) if len(loaded) else 0
            if reach:
                places = np.searchsorted(loaded, requested[:reach])
                times[timed : timed + reach] = self._times[places]
                timed += reach
                self._forget_before(int(places[-1]))
            elif not self._load():
                times[timed:] = self._after_all()
                break
        return times

    def _load(self) -> bool:
        """Replace the current rows by the next ones; False if there are no more."""
        while fetched := self._cursor.fetch(self._fetch_rows):
            rows = [row for row in fetched if row[_COMMIT] is not None]
            if rows:
                columns = list(zip(*rows, strict=True))
                self._commits = LsnColumn.of(columns[_COMMIT])
                self._times = self._clock.microseconds(columns[_LOGMARKER])
                return True
        self._commits, self._times = NO_LSNS, np.zeros(0, np.int64)
        return False

    def _after_all(self) -> int:
        """Return the time of the commits after all rows of the window."""
        if self._later_time is None:
            self._later_time = self._read_later_time()
        return self._later_time

    def _forget_before(self, row: int) -> None:
        self._commits, self._times = self._commits.take(slice(row, None)), self._times[row:]

    def close(self) -> None:
        """Close the query; never raises."""
        self._cursor.close()


def _numbers(*columns: LsnColumn) -> list[np.ndarray]:
    """Return the numbers as values that NumPy orders: the lower halves, if the upper halves are
    0."""
    if not any(lsns.high.any() for lsns in columns):
        return [lsns.low for lsns in columns]
    return [
        np.array(
            [h << 64 | low for h, low in zip(lsns.high.tolist(), lsns.low.tolist(), strict=True)],
            object,
        )
        for lsns in columns
    ]
