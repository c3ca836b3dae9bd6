"""`headrace.MetricsListener` beside a query of PySpark."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import headrace
from headrace.cli import main
from headrace.spark.monitoring.listener import _Queries
from tests.servers.sources import ONE_DATABASE, SECRET, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

WITHIN_S = 300


def got(listener: headrace.MetricsListener, path: str) -> tuple[int, str]:
    assert listener.url is not None
    connection = HTTPConnection(listener.url.removeprefix("http://"), timeout=WITHIN_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def values(listener: headrace.MetricsListener) -> dict[str, float]:
    """Values by the names of metrics that have one series."""
    status, text = got(listener, "/metrics")
    assert status == 200
    assert SECRET not in text
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def awaited(condition: Callable[[], Any], query: StreamingQuery | None = None) -> Any:
    latest = time.monotonic() + WITHIN_S
    while not (outcome := condition()):
        assert query is None or query.exception() is None
        assert time.monotonic() < latest
        time.sleep(0.1)
    return outcome


@ONE_DATABASE
@pytest.mark.spark
def test_a_listener_serves_the_metrics_of_the_sessions_queries(
    spark: SparkSession, source: Source, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source.insert(1, 50, "existing")
    listener = headrace.MetricsListener(port=0)
    spark.streams.addListener(listener)
    # Nobody wants to see this one.
    numbers = spark.readStream.format("rate").load().writeStream.format("noop").start()
    checkpoint = tmp_path / "checkpoint"
    # Spark 4.0 and 4.1 need its name.
    options = headrace.options(source.properties(), headrace_checkpoint_dir=str(checkpoint))
    frame = spark.readStream.format("headrace").options(**options).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.queryName("orders").start()
    try:
        awaited(lambda: got(listener, "/readyz")[0] == 200, query)
        source.insert(51, 57, "live")
        awaited(lambda: values(listener).get("headrace_rows_total", 0) >= 57, query)
        name = "debezium_metrics_TotalNumberOfCreateEventsSeen"
        awaited(lambda: values(listener).get(name) == 7, query)
        # The lag is gone once the source was asked for what follows, which an idle query reports.
        awaited(lambda: values(listener).get("headrace_lag_seconds") == 0, query)
        _, text = got(listener, "/metrics")
        assert 'query="orders"' in text
        assert str(numbers.id) not in text
        awaited(lambda: main(["status", str(checkpoint), "--json"]) == 0)
        capsys.readouterr()
        assert main(["status", str(checkpoint), "--json", "--fail-above-lag", "1h"]) == 0
        status_report = json.loads(capsys.readouterr().out)
        assert (status_report["name"], status_report["state"], status_report["running"]) == (
            "orders",
            "streaming",
            True,
        )
        assert status_report["rows"] >= 57
    finally:
        query.stop()
        numbers.stop()
    awaited(lambda: 'state="stopped"} 1.0' in got(listener, "/metrics")[1])
    assert got(listener, "/healthz")[0] == 200
    assert got(listener, "/readyz")[0] == 503
    listener.close()
    spark.streams.removeListener(listener)


def test_a_query_takes_the_place_of_an_ended_one_with_its_name() -> None:
    queries = _Queries()
    for identity, name in (("1", "orders"), ("2", "items"), ("3", None)):
        queries.started(identity, f"run {identity}", name)
        queries.ended(identity, f"run {identity}", "null")
    queries.started("4", "run 4", "orders")
    queries.started("5", "run 5", "orders")  # Spark refuses it, and nothing running is left out
    queries.started("6", "run 6", None)
    assert [*queries.observed()] == ["2", "3", "4", "5", "6"]
    queries.ended("4", "run 4", None)
    queries.started("7", "run 7", "orders")
    assert [*queries.observed()] == ["2", "3", "5", "6", "7"]


@ONE_DATABASE
@pytest.mark.spark
def test_a_query_that_fails_is_unhealthy_until_it_is_started_again(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    listener = headrace.MetricsListener(port=0)
    spark.streams.addListener(listener)
    wrong = headrace.options(source.properties() | source.wrong | {"errors.max.retries": "0"})
    start = spark.readStream.format("headrace").options(**wrong).load().writeStream.format("noop")
    query = start.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    awaited(lambda: query.exception() is not None)
    failed = awaited(
        lambda: got(listener, "/healthz") if got(listener, "/healthz")[0] == 503 else 0
    )
    error = headrace.error(query)
    assert error is not None
    assert json.loads(failed[1])["queries"][0]["error"] == error.code
    assert values(listener)["headrace_error"] == 1
    listener.close()
    spark.streams.removeListener(listener)
