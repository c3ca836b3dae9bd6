"""The content of a report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.spark.monitoring import observed
from headrace.spark.monitoring.observed import ObservedQuery
from headrace.spark.monitoring.report import Report
from tests.spark.monitoring.reports import NOW, metrics, report


@pytest.mark.parametrize(
    ("oldest_ms", "silent", "lag"),
    [
        (None, 0, 0),
        (None, 12, 0),  # idle queries report every ten seconds
        (None, 600, 600),  # nobody knows what was committed meanwhile
        (2500, 0, 2.5),
        (2500, 4, 6.5),  # it is still not in the sink
        (2500, 600, 602.5),
    ],
)
def test_the_lag_is_the_age_of_what_may_be_missing_in_the_sink(
    oldest_ms: int | None, silent: int, lag: float
) -> None:
    run_report = report(metrics=metrics(oldest_ms), reported=NOW - silent)
    assert run_report.lag_seconds(NOW) == lag


def test_a_snapshot_has_no_lag_and_neither_has_what_never_reported() -> None:
    reading = metrics()
    reading["snapshot"]["SnapshotRunning"] = True
    assert report(metrics=reading).lag_seconds(NOW) is None
    assert report(metrics=None, reported=None).lag_seconds(NOW) is None
    assert report(metrics=metrics(Connected=False)).lag_seconds(NOW) is None


def test_a_query_is_ready_when_it_has_begun_and_nothing_is_in_the_way() -> None:
    error = {"code": "a.b", "message": "m", "remedy": "r", "retriable": True}
    ready = {
        state: report(state=state).is_ready
        for state in ("starting", "snapshotting", "streaming", "restarting", "failed", "stopped")
    }
    assert [state for state, is_ready in ready.items() if is_ready] == ["snapshotting", "streaming"]
    assert not report(error=error).is_ready


def test_a_report_comes_back_from_its_json_also_of_a_newer_version() -> None:
    run_report = report(name="orders", warnings=("careful",), tables={"a.t": {"changes": 1}})
    text = json.dumps(run_report.to_json() | {"new_in_a_later_version": 1})
    again = Report.from_json(json.loads(text))
    assert json.dumps(again.to_json()) == json.dumps(run_report.to_json())
    with pytest.raises(TypeError):
        Report.from_json({"time": 1})


def shows(monkeypatch: pytest.MonkeyPatch, query: ObservedQuery, situation: dict[str, Any]) -> None:
    """Let the file of the query's source have this content."""
    monkeypatch.setattr(observed, "read_situation", lambda _name: situation)
    monkeypatch.setattr(query, "_situation", "situation")


def test_a_wait_that_ends_with_an_error_continues_with_the_next_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = NOW
    query = ObservedQuery(clock=lambda: clock)
    situation: dict[str, Any] = {
        "source": {}, "retries": 0, "state": "snapshot", "since": NOW, "warnings": [],
    }  # fmt: skip
    shows(monkeypatch, query, situation)
    error = ("postgresql.lock_timeout", "waiting for a lock on a.b", "")
    steps: list[tuple[str | None, int, float | None]] = [
        (None, 0, None),
        ("held by 1", 0, NOW + 10),
        (None, 1, NOW + 10),  # between two attempts
        ("held by 2", 1, NOW + 10),
        ("held by 2", 2, NOW + 10),
        (None, 0, None),
        ("held by 3", 0, NOW + 60),
    ]
    for waits, attempts, since in steps:
        situation |= {
            "waits": waits, "attempts": attempts, "error": error if attempts else None,
        }  # fmt: skip
        assert query.report().waits_since == since
        clock += 10


def test_an_idle_query_whose_metrics_are_in_the_file_of_its_source_has_no_lag(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = NOW
    query = ObservedQuery(clock=lambda: clock)
    situation: dict[str, Any] = {
        "source": {"plugin": "postgres", "server": "shop"}, "retries": 0, "state": "streaming",
        "since": NOW, "warnings": [], "waits": None, "error": None, "reported": NOW - 1,
        "report": {"v": 2, "metrics": metrics(2500)},
    }  # fmt: skip
    shows(monkeypatch, query, situation)
    assert query.report().lag_seconds(NOW) == 3.5
    clock += 600
    situation |= {"report": {"v": 2, "metrics": metrics(None)}, "reported": clock - 1}
    assert query.report().lag_seconds(clock) == 0
    situation |= {"report": {"v": 2, "metrics": metrics(None) | {"silent_ms": 60_000}}}
    assert query.report().lag_seconds(clock) == 61
    clock += 600  # the source says nothing any more
    assert query.report().lag_seconds(clock) == 661
