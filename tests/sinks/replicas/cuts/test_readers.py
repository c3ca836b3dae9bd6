"""A session that lacks what Spark's reader of a table needs, by `headrace.read_consistent`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace
from headrace.errors import HeadraceError
from headrace.sinks.replicas.cuts.cut import Cut
from headrace.sinks.replicas.cuts.cut_log import CutLog
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import ReplicaOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_session_without_the_package_of_iceberg_names_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = tmp_path / "sink"  # the folder of the sink in a state folder
    sink.mkdir()
    log = CutLog(sink, "iceberg", ReplicaOptions())
    log.open({"catalog.name": "lake"})
    table = TableName(("public",), "accounts")
    log.add(Cut(1, 10, "0/A", "system", 1, time.time_ns() // 1_000_000, {table: "7"}))
    with pytest.raises(HeadraceError) as caught:
        headrace.read_consistent(spark, tmp_path)
    assert caught.value.code == "replicas.no_reader"
    assert "public.accounts" in caught.value.message
    assert "iceberg-spark-runtime-4.1" in caught.value.remedy
