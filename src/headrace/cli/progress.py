"""A verb's phases while its query runs, told from Spark's progress."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from headrace.cli.messages import Messages
from headrace.findings import counted
from headrace.spark.metrics import Metrics, reported_metrics

_RATE_WINDOW_S = 10.0
_IDLE_S = 3.0


class Progress:
    """Its `count` and `update` go to the supervisor, which calls them in this order; `rows_of`
    tells a micro-batch's events from its progress (None: as many as Spark counted)."""

    def __init__(
        self,
        messages: Messages,
        rows_of: Callable[[Mapping[str, Any]], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._messages = messages
        self._rows_of = rows_of or _input_rows
        self._clock = clock
        self._events = self._last = 0
        self._recent: deque[tuple[float, int]] = deque()

    def count(self, progress: Mapping[str, Any]) -> int:
        """The events of a micro-batch."""
        self._last = self._rows_of(progress)
        return self._last

    def update(self, progress: Mapping[str, Any]) -> None:
        """Tell the phase that a micro-batch's progress (Spark's JSON) shows."""
        now = self._clock()
        count, self._last = self._last, 0
        if count:
            self._events += count
            self._recent.append((now, count))
        while self._recent and now - self._recent[0][0] > _RATE_WINDOW_S:
            self._recent.popleft()
        metrics = reported_metrics(progress)
        if metrics is not None and metrics.snapshot.get("SnapshotRunning"):
            self._messages.phase("snapshot", snapshot_details(metrics.snapshot, self._events))
        elif self._events or metrics is None or _is_over(metrics.snapshot):
            self._messages.phase("streaming", self._streaming_details(metrics, now))

    def _streaming_details(self, metrics: Metrics | None, now: float) -> str:
        parts = [counted(self._events, "event")]
        if not self._recent or now - self._recent[-1][0] > _IDLE_S:
            return f"{parts[0]}, waiting for changes"
        seconds = max(1.0, now - self._recent[0][0])
        parts.append(f"{sum(count for _, count in self._recent) / seconds:,.0f}/s")
        lag = -1 if metrics is None else int(metrics.streaming.get("MilliSecondsBehindSource", -1))
        if lag >= 0:
            parts.append(f"lag {lag / 1000:,.1f} s" if lag >= 1000 else f"lag {lag} ms")
        return ", ".join(parts)


def _is_over(snapshot: Mapping[str, Any]) -> bool:
    return bool(snapshot.get("SnapshotCompleted") or snapshot.get("SnapshotSkipped"))


def snapshot_details(snapshot: Mapping[str, Any], events: int) -> str:
    """Tables and rows that were read, the rate, and the seconds that remain, from a snapshot's
    metrics; numbers of rows are those of the database's statistics, and where these lack a table
    the `events` so far."""
    total = int(snapshot["TotalTableCount"])
    done = total - int(snapshot["RemainingTableCount"])
    parts = [f"{done} of {counted(total, 'table')}"]
    scanned = snapshot.get("RowsScanned") or {}
    expected = snapshot.get("EstimatedRows") or {}
    about = sum(max(count, scanned.get(name, 0)) for name, count in expected.items())
    # Statistics that lack a table say nothing of the whole, and guess its rows from its pages.
    whole = len(expected) == total and about > 0
    rows = sum(scanned.values()) if whole else events
    parts.append(f"{rows:,} of about {about:,} rows" if whole else counted(events, "event"))
    seconds = int(snapshot.get("SnapshotDurationInSeconds") or 0)
    if seconds and rows:
        parts.append(f"{rows / seconds:,.0f}/s")
        if whole and about > rows:
            parts.append(f"about {(about - rows) * seconds / rows:,.0f} s left")
    return ", ".join(parts)


def _input_rows(progress: Mapping[str, Any]) -> int:
    return int(progress.get("numInputRows") or 0)
