"""Phases that Spark's progress shows."""

from __future__ import annotations

import io
import json
from typing import Any

from headrace.cli.messages import LogFormat, Messages
from headrace.cli.progress import Progress, snapshot_details, snapshot_figures


def progress(rows: int, *, snapshot: dict[str, Any], lag: int = -1) -> dict[str, Any]:
    streaming = {"MilliSecondsBehindSource": lag}
    metrics = {"snapshot": snapshot, "streaming": streaming, "database": None}
    return {"numInputRows": rows, "sources": [{"latestOffset": {"metrics": metrics}}]}


def test_a_query_starts_reads_a_snapshot_and_streams() -> None:
    stream, now = io.StringIO(), [0.0]
    phases = Progress(Messages(stream), clock=lambda: now[0])
    running = {"SnapshotRunning": True, "TotalTableCount": 2, "RemainingTableCount": 1}
    for rows, snapshot, lag in (
        (0, {}, -1),
        (10, running, -1),
        (5, {"SnapshotCompleted": True}, 80),
    ):
        now[0] += 1
        query_progress = progress(rows, snapshot=snapshot, lag=lag)
        assert phases.count(query_progress) == rows
        phases.update(query_progress)
    lines = [line.partition(" ")[2] for line in stream.getvalue().splitlines()]
    assert lines == ["snapshot: 1 of 2 tables, 10 events", "streaming: 15 events, 15/s, lag 80 ms"]


def test_a_snapshot_reports_rows_rate_and_remaining_time() -> None:
    snapshot = {
        "TotalTableCount": 2,
        "RemainingTableCount": 1,
        "RowsScanned": {"s.a": 1000, "s.b": 500},
        "EstimatedRows": {"s.a": 900, "s.b": 2000},
        "SnapshotDurationInSeconds": 3,
    }
    assert snapshot_details(snapshot_figures(snapshot, 7)) == (
        "1 of 2 tables, 1,500 of about 3,000 rows, 500/s, about 3 s left"
    )
    # The statistics lack a table.
    del snapshot["EstimatedRows"]["s.b"]  # type: ignore[attr-defined]
    assert snapshot_details(snapshot_figures(snapshot, 900)) == "1 of 2 tables, 900 events, 300/s"


def test_the_figures_of_progress_are_members_of_json_lines() -> None:
    stream, now = io.StringIO(), [0.0]
    messages = Messages(stream, log_format=LogFormat.JSON)
    phases = Progress(messages, clock=lambda: now[0])
    running = {
        "SnapshotRunning": True,
        "TotalTableCount": 2,
        "RemainingTableCount": 1,
        "RowsScanned": {"s.a": 10},
        "EstimatedRows": {"s.a": 10, "s.b": 20},
        "SnapshotDurationInSeconds": 2,
    }
    for rows, snapshot, lag in ((10, running, -1), (5, {"SnapshotCompleted": True}, 1600)):
        now[0] += 1
        query_progress = progress(rows, snapshot=snapshot, lag=lag)
        phases.count(query_progress)
        phases.update(query_progress)
    first, second = map(json.loads, stream.getvalue().splitlines())
    figures = {"events": 10, "tables": 1, "tables_total": 2, "rows": 10, "rows_estimated": 30,
               "rows_per_second": 5, "seconds_left": 4}  # fmt: skip
    assert {name: first[name] for name in figures} == figures
    assert first["message"] == "snapshot: 1 of 2 tables, 10 of about 30 rows, 5/s, about 4 s left"
    assert (second["events"], second["events_per_second"], second["lag_ms"]) == (15, 15.0, 1600)
