"""The thread that keeps the reports of a process up to date."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import pytest

from headrace.spark.monitoring import monitor as module
from headrace.spark.monitoring.files import running_reports
from headrace.spark.monitoring.monitor import Monitor
from headrace.spark.monitoring.observed import ObservedQuery


def observed() -> ObservedQuery:
    labels = {"plugin": "postgres", "server": "shop"}
    return ObservedQuery(labels=labels, query=str(uuid.uuid4()))


def until(holds: Callable[[], bool]) -> None:
    latest = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < latest
        time.sleep(0.01)


def test_a_query_that_is_no_longer_observed_has_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def reported() -> set[str]:
        return {report.query for report in running_reports()} & {first, second}

    monkeypatch.setattr(module, "_LOOK_S", 0.01)
    queries = {query.report().query: query for query in (observed(), observed())}
    first, second = queries
    monitor = Monitor(lambda: dict(queries))
    try:
        until(lambda: reported() == {first, second})
        del queries[first]
        until(lambda: reported() == {second})
        assert [*monitor._files] == [second]
    finally:
        monitor.close()
    assert reported() == set()
