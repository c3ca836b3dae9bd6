"""The metrics of a query, seen from the driver."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace
from tests.servers.sources import ONE_DATABASE, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITHIN_S = 300


@ONE_DATABASE
@pytest.mark.spark
def test_a_driver_reads_the_metrics_of_its_query(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    source.insert(1, 50, "existing")
    headrace.register(spark)
    checkpoint = str(tmp_path / "checkpoint")
    options = headrace.options(source.properties(), headrace_checkpoint_dir=checkpoint)
    frame = spark.readStream.format("headrace").options(**options).load()
    writer = frame.writeStream.format("noop")
    query = writer.option("checkpointLocation", checkpoint).start()
    deadline, written, metrics = time.monotonic() + WITHIN_S, False, None
    while query.exception() is None and time.monotonic() < deadline:
        metrics = headrace.metrics(query)
        if metrics and metrics.streaming["TotalNumberOfEventsSeen"] >= 7:
            break
        if metrics and metrics.snapshot["SnapshotCompleted"] and not written:
            written = True
            source.insert(51, 57, "live")
        time.sleep(0.2)
    query.stop()
    assert metrics is not None
    assert metrics.snapshot["SnapshotCompleted"]
    assert metrics.streaming["TotalNumberOfCreateEventsSeen"] == 7
    assert metrics.streaming["CapturedTables"] == [source.topic.removeprefix("s.")]
    assert metrics.streaming["Connected"]
    assert source.metrics <= metrics.streaming.keys()
