"""The metrics of a connector, by the names of Debezium's JMX metrics.

The numbers count from the start of this source process, as Debezium's count from a task's start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace.connect.rows import NULL

_COUNTED = {
    "TotalNumberOfEventsSeen": "cudtm",
    "TotalNumberOfCreateEventsSeen": "c",
    "TotalNumberOfUpdateEventsSeen": "u",
    "TotalNumberOfDeleteEventsSeen": "d",
}


class LagMetrics:
    """The least, largest and mean lag in ms, and percentiles that are accurate to 2 %."""

    _BOUNDS = np.concatenate(([1.0], 1.02 ** np.arange(1, 1300)))

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget every lag."""
        self._counts = np.zeros(len(self._BOUNDS) + 1, np.int64)
        self._last = self._least = self._largest = self._sum = 0

    def add(self, lags: np.ndarray) -> None:
        """Add lags (int64, ms), in the order of time."""
        if len(lags) == 0:
            return
        first = not self._counts.any()
        low, high = int(lags.min()), int(lags.max())
        self._least = low if first else min(self._least, low)
        self._largest = high if first else max(self._largest, high)
        self._sum += int(lags.sum())
        self._last = int(lags[-1])
        places = np.searchsorted(self._BOUNDS, lags)
        self._counts += np.bincount(places, minlength=len(self._counts))

    def to_json(self) -> dict[str, int | None]:
        """The metrics by Debezium's names; -1 and None before the first event."""
        name = "MilliSecondsBehindSource"
        count = int(self._counts.sum())
        figures: dict[str, int | None] = {
            name: self._last if count else -1,
            f"{name}MinValue": self._least if count else None,
            f"{name}MaxValue": self._largest if count else None,
            f"{name}AverageValue": self._sum // count if count else None,
        }
        for percent in (50, 95, 99):
            figures[f"{name}P{percent}"] = self._percentile(percent, count) if count else None
        return figures

    def _percentile(self, percent: int, count: int) -> int:
        place = int(np.searchsorted(np.cumsum(self._counts), -(-count * percent // 100)))
        bound = self._BOUNDS[min(place, len(self._BOUNDS) - 1)]
        return max(self._least, min(self._largest, round(float(bound))))


class StreamingMetrics:
    """Metrics of the streamed log, as its ranges are planned."""

    def __init__(
        self,
        position: Callable[[np.void | None], Mapping[str, Any]] = lambda _row: {},
        clock: Callable[[], float] = time.time,
        own_metrics: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """`position` returns `SourceEventPosition` for the last record's row (None: no record
        came), `own_metrics` the connector's own metrics, in addition to the common ones."""
        self._position, self._own = position, own_metrics
        self._clock = clock
        self.lag = LagMetrics()
        self.reset()

    def reset(self) -> None:
        """Reset the metrics, as Debezium's operation `reset` does."""
        self._operations = np.zeros(256, np.int64)
        self._transactions = 0
        self._last_event: str | None = None
        self._last_time: float | None = None
        self._last_transaction: str | None = None
        self._last_position = self._position(None)
        self.lag.reset()

    def saw(
        self,
        rows: np.ndarray,
        transactions: np.ndarray,
        topics: Mapping[int, str],
        *,
        ends_inside: bool,
    ) -> None:
        """Count the rows of a range, in the order of the log, and the transactions that they refer
        to; `ends_inside`: the last transaction goes on. `topics` is by relation."""
        self._last_time = self._clock()
        self._operations += np.bincount(rows["operation"], minlength=256)
        last = rows[-1]
        operation = chr(last["operation"]) if last["operation"] else "d"
        self._last_event = f"operation={operation}, topic={topics[int(last['relation'])]}"
        of_range = transactions[int(rows["transaction"][0]) : int(last["transaction"]) + 1]
        within = of_range[of_range["xid"] != NULL]
        if len(within):
            self._transactions += int((np.diff(within["xid"]) != 0).sum()) + 1 - int(ends_inside)
            self._last_transaction = str(within["xid"][-1])
        self._last_position = self._position(last)
        self.lag.add(int(self._last_time * 1000) - of_range["commit_ms"])

    def to_json(self) -> dict[str, Any]:
        """The metrics by Debezium's names."""
        since = None if self._last_time is None else self._clock() - self._last_time
        return {
            "LastEvent": self._last_event,
            "MilliSecondsSinceLastEvent": -1 if since is None else int(since * 1000),
            **{
                name: int(sum(self._operations[ord(letter)] for letter in letters))
                for name, letters in _COUNTED.items()
            },
            **self.lag.to_json(),
            "NumberOfCommittedTransactions": self._transactions,
            "SourceEventPosition": dict(self._last_position),
            "LastTransactionId": self._last_transaction,
            "NumberOfUnchangedEventsSkipped": -1,
            **self._own(),
        }


class SnapshotMetrics:
    """Metrics of the initial snapshot, as its chunks are planned. `RowsScanned` comes from the
    tables' statistics, because tasks read the rows and report no numbers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tables: Sequence[str] = ()
        self._remaining = 0
        self._rows: dict[str, int] = {}
        self._estimated: Mapping[str, int] = {}
        self._began: float | None = None
        self._ended: float | None = None
        self._skipped = False
        self._aborted = False

    def began(self, tables: Sequence[str], estimated: Mapping[str, int] | None = None) -> None:
        """Note that a snapshot of `tables` starts, or continues after a restart; `estimated` are
        the numbers of rows that the database's statistics have for some of them."""
        self._estimated = estimated or {}
        self._tables, self._remaining = tables, len(tables)
        self._began, self._ended, self._aborted = self._clock(), None, False

    @property
    def running(self) -> bool:
        """Whether a snapshot began and did not end."""
        return self._began is not None and self._ended is None

    def planned(self, table: int, rows: Mapping[int, int]) -> None:
        """Note that chunks up to `table` (its number) are planned; `rows` are the estimated numbers
        of their rows, by table."""
        self._remaining = len(self._tables) - min(table, len(self._tables))
        for number, count in rows.items():
            name = self._tables[number]
            self._rows[name] = self._rows.get(name, 0) + count

    def completed(self) -> None:
        """Note that every chunk was read."""
        self._remaining = 0
        self._ended = self._clock()

    def skipped(self) -> None:
        """Note that no snapshot begins: `snapshot.mode` says so, or it was done before."""
        self._skipped = self._began is None

    def aborted(self) -> None:
        """Note that the running snapshot ended with an error; no effect if none runs."""
        if self.running:
            self._ended, self._aborted = self._clock(), True

    def to_json(self) -> dict[str, Any]:
        """The metrics by Debezium's names, and `EstimatedRows` by table from the statistics."""
        seconds = 0.0
        if self._began is not None:
            seconds = (self._clock() if self._ended is None else self._ended) - self._began
        return {
            "TotalTableCount": len(self._tables),
            "RemainingTableCount": self._remaining,
            "SnapshotRunning": self.running,
            "SnapshotPaused": False,
            "SnapshotAborted": self._aborted,
            "SnapshotCompleted": self._ended is not None and not self._aborted,
            "SnapshotSkipped": self._skipped,
            "SnapshotDurationInSeconds": int(seconds),
            "SnapshotPausedDurationInSeconds": 0,
            "RowsScanned": dict(self._rows),
            "EstimatedRows": dict(self._estimated),
        }
