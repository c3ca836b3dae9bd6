"""The content of a report."""

from __future__ import annotations

import json

import pytest

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
