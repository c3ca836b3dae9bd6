"""Reports for tests."""

from __future__ import annotations

from typing import Any

from headrace.spark.monitoring.report import Report

NOW = 1_000_000.0


def report(**members: Any) -> Report:
    """One of a query that streams from a database of `shop`."""
    default_members = {
        "time": NOW,
        "process": {"pid": 1, "began": 1, "host": "h", "hostname": "h"},
        "started": NOW - 60,
        "query": "7f0c",
        "plugin": "postgres",
        "server": "shop",
        "state": "streaming",
        "reported": NOW,
        "metrics": metrics(),
    }
    return Report(**(default_members | members))


def metrics(oldest_ms: int | None = None, **streaming: Any) -> dict[str, Any]:
    """The metrics of a source with a slot."""
    return {
        "snapshot": {"SnapshotRunning": False, "RowsScanned": {"public.t": 3}},
        "streaming": {"Connected": True, "LastEvent": "operation=c", **streaming},
        "incremental": None,
        "database": {"lag_bytes": 5, "retained_bytes": 9, "wal_status": "extended"},
        "oldest_unacknowledged_ms": oldest_ms,
    }
