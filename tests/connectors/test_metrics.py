from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import NULL, ROW, TRANSACTION
from headrace.connectors.metrics import LagMetrics, SnapshotMetrics, StreamingMetrics


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200))
def test_lags_are_exact_but_for_percentiles_within_two_percent(lags: list[int]) -> None:
    metrics = LagMetrics()
    for part in np.array_split(np.array(lags, np.int64), 3):
        metrics.add(part)
    metrics_json = metrics.to_json()
    name = "MilliSecondsBehindSource"
    assert metrics_json[name] == lags[-1]
    assert metrics_json[f"{name}MinValue"] == min(lags)
    assert metrics_json[f"{name}MaxValue"] == max(lags)
    assert metrics_json[f"{name}AverageValue"] == sum(lags) // len(lags)
    for percent in (50, 95, 99):
        exact = sorted(lags)[-(-len(lags) * percent // 100) - 1]
        assert abs((metrics_json[f"{name}P{percent}"] or 0) - exact) <= exact * 0.021 + 1


def test_without_lags_there_are_no_numbers() -> None:
    assert set(LagMetrics().to_json().values()) == {-1, None}


def test_events_and_transactions_are_counted_by_debeziums_names() -> None:
    def position(row: np.void | None) -> dict[str, int | None]:
        return {"place": None if row is None else int(row["ordinal"])}

    now = [1000.0]
    metrics = StreamingMetrics(position, lambda: now[0])
    rows = np.zeros(6, ROW)
    rows["operation"] = [ord("B"), ord("c"), ord("u"), ord("d"), 0, ord("m")]
    rows["transaction"] = [0, 0, 0, 0, 0, 1]
    rows["ordinal"] = range(10, 16)
    transactions = np.zeros(2, TRANSACTION)
    transactions["xid"] = [700, NULL]
    transactions["commit_ms"] = [999_000, 999_500]
    metrics.saw(rows, transactions, {0: "server.s.t"}, ends_inside=False)
    now[0] = 1002.0
    metrics_json = metrics.to_json()
    assert metrics_json["TotalNumberOfEventsSeen"] == 4
    assert metrics_json["TotalNumberOfCreateEventsSeen"] == 1
    assert metrics_json["TotalNumberOfUpdateEventsSeen"] == 1
    assert metrics_json["TotalNumberOfDeleteEventsSeen"] == 1
    assert metrics_json["NumberOfCommittedTransactions"] == 1
    assert metrics_json["LastTransactionId"] == "700"
    assert metrics_json["LastEvent"] == "operation=m, topic=server.s.t"
    assert metrics_json["SourceEventPosition"] == {"place": 15}
    assert metrics_json["MilliSecondsSinceLastEvent"] == 2000
    assert metrics_json["MilliSecondsBehindSource"] == 500
    assert metrics_json["MilliSecondsBehindSourceMaxValue"] == 1000
    metrics.lag.reset()
    assert metrics.to_json()["MilliSecondsBehindSource"] == -1
    assert metrics.to_json()["TotalNumberOfEventsSeen"] == 4
    metrics.reset()
    assert metrics.to_json()["SourceEventPosition"] == {"place": None}
    assert metrics.to_json()["TotalNumberOfEventsSeen"] == 0


def test_a_snapshot_is_running_then_completed_or_aborted() -> None:
    now = [5.0]
    metrics = SnapshotMetrics(lambda: now[0])
    metrics.began(["s.a", "s.b"])
    metrics.planned(1, {0: 100})
    now[0] = 12.5
    metrics_json = metrics.to_json()
    assert (metrics_json["TotalTableCount"], metrics_json["RemainingTableCount"]) == (2, 1)
    assert metrics_json["SnapshotRunning"]
    assert metrics_json["SnapshotDurationInSeconds"] == 7
    assert metrics_json["RowsScanned"] == {"s.a": 100}
    metrics.completed()
    metrics.skipped()
    metrics_json = metrics.to_json()
    assert metrics_json["SnapshotCompleted"]
    for name in ("SnapshotRunning", "SnapshotSkipped", "SnapshotAborted"):
        assert not metrics_json[name]
    metrics.began(["s.a"])
    metrics.aborted()
    assert metrics.to_json()["SnapshotAborted"]
    assert not metrics.to_json()["SnapshotCompleted"]
