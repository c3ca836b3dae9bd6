"""Reports in Prometheus' text format, read by its own client."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from headrace.spark.monitoring.declarations import OWN
from headrace.spark.monitoring.families import exposition
from headrace.spark.monitoring.report import Report
from tests.spark.monitoring.reports import NOW, metrics, report

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
LABELS = {"plugin": "postgres", "name": "shop", "query": "7f0c"}
REPLICA = {
    "changes": 5, "written": 4, "deleted": 1, "bytes": 100, "commits": 2, "files": 3, "vectors": 1,
    "last_commit": "1970-01-12T13:46:40.000+00:00", "delay_ms": 1500, "error": None,
}  # fmt: skip


def samples(*reports: Report) -> Samples:
    text = exposition(reports, NOW).decode()
    read = [
        (sample.name, frozenset(sample.labels.items()), sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    assert Counter((name, labels) for name, labels, _ in read).most_common(1)[0][1] == 1
    return {(name, labels): value for name, labels, value in read}


def value_of(read: Samples, name: str, **labels: str) -> float | None:
    return read.get((name, frozenset((LABELS | labels).items())))


def test_debeziums_metrics_have_the_names_and_labels_of_its_example() -> None:
    read = samples(report(metrics=metrics(MilliSecondsBehindSource=7)))
    name = "debezium_metrics_MilliSecondsBehindSource"
    assert value_of(read, name, context="streaming") == 7
    assert value_of(read, "debezium_metrics_SnapshotRunning", context="snapshot") == 0
    rows = value_of(read, "debezium_metrics_RowsScanned", context="snapshot", table="public.t")
    assert rows == 3
    assert not [key for key in read if key[0].endswith("LastEvent")]  # texts are no metrics


def test_our_own_metrics_have_units_and_counters_end_in_total() -> None:
    first = report(rows=12, batches=3, tables={"lake.t": REPLICA}, metrics=metrics(1500))
    read = samples(first)
    assert value_of(read, "headrace_rows_total") == 12
    assert value_of(read, "headrace_lag_seconds") == 1.5
    assert value_of(read, "headrace_state", state="streaming") == 1
    assert value_of(read, "headrace_state", state="failed") == 0
    assert value_of(read, "headrace_slot_retained_bytes") == 9
    assert value_of(read, "headrace_slot_wal_status", status="extended") == 1
    assert value_of(read, "headrace_slot_wal_status", status="lost") == 0
    assert value_of(read, "headrace_table_lag_seconds", table="lake.t") == 1.5
    last = "headrace_table_last_commit_timestamp_seconds"
    assert value_of(read, last, table="lake.t") == 1_000_000
    assert value_of(read, "headrace_table_error", table="lake.t") == 0
    for metric in OWN:
        assert metric.name.endswith("_total") == metric.is_counter, metric.name


def test_a_stopped_replica_and_an_error_are_series_of_their_own() -> None:
    error = {"code": "postgresql.connection_lost", "message": "m", "remedy": "r", "retriable": True}
    read = samples(report(error=error, tables={"lake.t": REPLICA | {"error": "why"}}))
    assert value_of(read, "headrace_error", code="postgresql.connection_lost") == 1
    assert value_of(read, "headrace_table_error", table="lake.t") == 1
    assert not [key for key in samples(report()) if key[0] == "headrace_error"]


def test_queries_of_one_server_are_distinguished() -> None:
    read = samples(report(rows=1), report(rows=2, query="8a"), report(rows=3, name="orders"))
    assert value_of(read, "headrace_rows_total") == 1
    assert value_of(read, "headrace_rows_total", query="8a") == 2
    assert value_of(read, "headrace_rows_total", query="orders") == 3


def test_series_of_tables_are_bounded() -> None:
    many = {f"s.t{number}": number for number in range(3000)}
    figures = metrics()
    figures["snapshot"]["RowsScanned"] = many
    tables = dict.fromkeys(many, REPLICA)
    counted = Counter(name for name, _ in samples(report(metrics=figures, tables=tables)))
    assert counted["debezium_metrics_RowsScanned"] == 1000
    assert counted["headrace_table_error"] == 1000


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(codec="utf-8")))
def test_names_of_queries_and_tables_come_back_whatever_is_in_them(query: str, table: str) -> None:
    read = samples(report(name=query or "q", tables={table: REPLICA}))
    # The client's own reader of the format trims labels and splits lines as Python does.
    if (query + table).isprintable() and '"' not in query + table and "\\" not in query + table:
        assert value_of(read, "headrace_table_error", query=query or "q", table=table) == 0
