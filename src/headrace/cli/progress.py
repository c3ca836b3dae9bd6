"""The phases of a verb while its query runs, derived from Spark's progress."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from headrace.cli.messages import Messages
from headrace.findings import counted
from headrace.spark.metrics import Metrics, reported_metrics
from headrace.spark.progress import reads_rows

_RATE_WINDOW_S = 10.0
_IDLE_S = 3.0


class Progress:
    """The progress of a query. The supervisor calls `count` and `update`, in this order; `rows_of`
    returns a micro-batch's events from its progress (None: as many as Spark counted)."""

    def __init__(
        self,
        messages: Messages,
        rows_of: Callable[[Mapping[str, Any]], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._messages = messages
        self._rows_of = rows_of or _input_rows
        self._clock = clock
        self._events = self.last = 0
        """The events of the last counted micro-batch, until `update`."""
        self._recent: deque[tuple[float, int]] = deque()

    def count(self, progress: Mapping[str, Any]) -> int:
        """Return the events of a micro-batch."""
        self.last = self._rows_of(progress)
        return self.last

    def update(self, progress: Mapping[str, Any]) -> None:
        """Show the phase of a micro-batch's progress (Spark's JSON)."""
        now = self._clock()
        count, self.last = self.last, 0
        if count:
            self._events += count
            self._recent.append((now, count))
        while self._recent and now - self._recent[0][0] > _RATE_WINDOW_S:
            self._recent.popleft()
        metrics = reported_metrics(progress)
        if metrics is not None and metrics.snapshot.get("SnapshotRunning"):
            of_snapshot = snapshot_figures(metrics.snapshot, self._events)
            self._messages.phase("snapshot", snapshot_details(of_snapshot), of_snapshot)
        elif reads_rows(progress):
            return  # a micro-batch that is run again; its source has reported nothing yet
        elif self._events or metrics is None or _is_over(metrics.snapshot):
            figures = self._streaming_figures(metrics, now)
            self._messages.phase("streaming", _streaming_details(figures), figures)

    def _streaming_figures(self, metrics: Metrics | None, now: float) -> dict[str, float | None]:
        is_idle = not self._recent or now - self._recent[-1][0] > _IDLE_S
        seconds = 1.0 if is_idle else max(1.0, now - self._recent[0][0])
        rate = 0.0 if is_idle else sum(count for _, count in self._recent) / seconds
        lag = -1 if metrics is None else int(metrics.streaming.get("MilliSecondsBehindSource", -1))
        incremental = (None if metrics is None else metrics.incremental) or {}
        is_running = incremental.get("State") == "RUNNING"
        return {
            "events": self._events,
            "events_per_second": round(rate, 1),
            "lag_ms": lag if lag >= 0 else None,
            "incremental_rows": incremental.get("RowsScanned") if is_running else None,
            "incremental_seconds_left": incremental.get("RemainingSeconds") if is_running else None,
        }


def _streaming_details(figures: Mapping[str, float | None]) -> str:
    parts = [counted(int(figures["events"] or 0), "event")]
    rate, lag = figures["events_per_second"], figures["lag_ms"]
    if not rate:
        return f"{parts[0]}, waiting for changes"
    parts.append(f"{rate:,.0f}/s")
    if lag is not None:
        parts.append(f"lag {lag / 1000:,.1f} s" if lag >= 1000 else f"lag {lag} ms")
    return ", ".join(parts)


def _is_over(snapshot: Mapping[str, Any]) -> bool:
    return bool(snapshot.get("SnapshotCompleted") or snapshot.get("SnapshotSkipped"))


def snapshot_figures(snapshot: Mapping[str, Any], events: int) -> dict[str, int | None]:
    """Return the numbers of a snapshot's metrics: read and total tables and rows, rows per second,
    and the remaining seconds (None: unknown). Numbers of rows are those of the database's
    statistics; if these lack a table, only the `events` so far are shown."""
    total = int(snapshot["TotalTableCount"])
    scanned = snapshot.get("RowsScanned") or {}
    expected = snapshot.get("EstimatedRows") or {}
    about = sum(max(count, scanned.get(name, 0)) for name, count in expected.items())
    # Statistics that lack a table do not count its rows, and estimate them from its pages.
    whole = len(expected) == total and about > 0
    rows = sum(scanned.values()) if whole else events
    seconds = int(snapshot.get("SnapshotDurationInSeconds") or 0)
    rate = rows / seconds if seconds else 0
    return {
        "events": events,
        "tables": total - int(snapshot["RemainingTableCount"]),
        "tables_total": total,
        "rows": rows if whole else None,
        "rows_estimated": about if whole else None,
        "rows_per_second": round(rate) if rate else None,
        "seconds_left": round((about - rows) / rate) if whole and rate and about > rows else None,
    }


def snapshot_details(figures: Mapping[str, int | None]) -> str:
    """Return the figures of `snapshot_figures` as text for a line."""
    parts = [f"{figures['tables']} of {counted(figures['tables_total'] or 0, 'table')}"]
    whole = figures["rows"] is not None
    parts.append(
        f"{figures['rows']:,} of about {figures['rows_estimated']:,} rows"
        if whole
        else counted(figures["events"] or 0, "event")
    )
    if figures["rows_per_second"] is not None:
        parts.append(f"{figures['rows_per_second']:,}/s")
    if figures["seconds_left"] is not None:
        parts.append(f"about {figures['seconds_left']:,} s left")
    return ", ".join(parts)


def _input_rows(progress: Mapping[str, Any]) -> int:
    return int(progress.get("numInputRows") or 0)
