"""When transactions were committed: IBMSNAP_UOW, read along with the changes of a window.

A transaction that has no row there (Capture may have pruned it) has the time at which it is read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headrace.connectors.db2.streaming.change_table import RowCursor
from headrace.connectors.db2.streaming.lsn_columns import NO_LSNS, LsnColumn

_COMMIT, _LOGMARKER = range(2)


class CommitTimes:
    """The times of one window's transactions. `cursor` gives rows of IBMSNAP_COMMITSEQ and
    IBMSNAP_LOGMARKER (datetime, or a text of one) in the order of the former."""

    def __init__(self, cursor: RowCursor, fetch_rows: int) -> None:
        self._cursor, self._fetch_rows = cursor, fetch_rows
        self._commits, self._times = NO_LSNS, np.zeros(0, np.int64)
        self._is_read = False

    def of(self, commits: LsnColumn) -> np.ndarray:
        """Microseconds since 1970 (int64) of each of these commits, which are in order, and behind
        those that were asked for before."""
        if len(commits.low) == 0:
            return np.zeros(0, np.int64)
        self._read_upto(commits.place(-1))
        own, asked = _numbers(self._commits, commits)
        places = np.searchsorted(own, asked)
        there = places < len(own)
        there[there] = own[places[there]] == asked[there]
        times = np.full(len(places), time.time_ns() // 1000, np.int64)
        times[there] = self._times[places[there]]
        self._forget_before(int(places[-1]))
        return times

    def _read_upto(self, place: int) -> None:
        while not self._is_read and not (len(self._times) and self._commits.place(-1) >= place):
            rows = [row for row in self._cursor.fetch(self._fetch_rows) if row[_COMMIT] is not None]
            self._is_read = not rows
            if rows:
                columns = list(zip(*rows, strict=True))
                commits = LsnColumn.of(columns[_COMMIT])
                self._commits = LsnColumn.joined([self._commits, commits])
                self._times = np.concatenate([self._times, microseconds(columns[_LOGMARKER])])

    def _forget_before(self, row: int) -> None:
        self._commits, self._times = self._commits.take(slice(row, None)), self._times[row:]

    def close(self) -> None:
        """Let the query go; never raises."""
        self._cursor.close()


def microseconds(timestamps: Sequence[object]) -> np.ndarray:
    """Microseconds since 1970 (int64) of datetimes without zone, which are taken as UTC, or of
    their texts."""
    array = pa.array(timestamps)
    if pa.types.is_string(array.type):
        array = array.cast(pa.timestamp("ns"))
    numbers = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).fill_null(0)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)


def _numbers(*columns: LsnColumn) -> list[np.ndarray]:
    """The numbers as values that NumPy orders: the lower halves, where the upper ones are 0."""
    if not any(lsns.high.any() for lsns in columns):
        return [lsns.low for lsns in columns]
    return [
        np.array(
            [h << 64 | low for h, low in zip(lsns.high.tolist(), lsns.low.tolist(), strict=True)],
            object,
        )
        for lsns in columns
    ]
