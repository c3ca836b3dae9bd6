"""A Spark session for the tests of tables, with Delta where its jars are to be had."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from headrace.java import find_java
from headrace.spark.jvm.gateway import DriverJvm
from headrace.spark.session import build_session
from headrace.testing.maven import NotFetched, fetch_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELTA = (
    ("io.delta", "delta-spark_4.2_2.13", "4.4.0"),
    ("io.delta", "delta-storage", "4.4.0"),
)
DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def delta_settings() -> dict[str, str]:
    """Settings of a session that has Delta; none where its jars cannot be fetched."""
    java = find_java() / "bin" / "java"
    try:
        folders = [fetch_jars(java, module, alone=True) for module in DELTA]
    except NotFetched:
        return {}
    jars = [str(jar) for folder in folders for jar in sorted(folder.glob("*.jar"))]
    return DELTA_SETTINGS | {"spark.jars": ",".join(jars)}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.memory": "1g",
    }
    # A JVM of its own: another one has other jars.
    jvm = DriverJvm(lambda line: print(line, file=sys.stderr))
    settings |= delta_settings()
    session = build_session("tables", master="local[2,2]", settings=settings, jvm=jvm)
    yield session
    session.stop()
    jvm.close()


@pytest.fixture
def delta(spark: SparkSession) -> SparkSession:
    """The session, where it has Delta."""
    if not spark.conf.get("spark.sql.extensions", ""):
        pytest.skip("Delta's jars cannot be fetched here")
    return spark
