"""A Spark session for the tests of DataFrames, with Spark's Kafka source where its jars are to be
had."""

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

_KAFKA = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0")
_WITH_SPARK = ("spark-", "scala-", "hadoop-", "slf4j-", "jsr305", "lz4-", "snappy-")
"""Jars that a session has, or that Kafka's client finds there in other releases."""


def kafka_settings() -> dict[str, str]:
    """Settings of a session that reads from Kafka; none where its jars cannot be fetched."""
    try:
        folder = fetch_jars(find_java() / "bin" / "java", _KAFKA)
    except NotFetched:
        return {}
    jars = [
        str(jar)
        for jar in sorted(folder.glob("*.jar"))
        if not jar.name.startswith(_WITH_SPARK) or "kafka" in jar.name
    ]
    return {"spark.jars": ",".join(jars)}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.memory": "1g",
    }
    # A JVM of its own: another one has other jars.
    jvm = DriverJvm(lambda line: print(line, file=sys.stderr))
    settings |= kafka_settings()
    session = build_session("frames", master="local[2,2]", settings=settings, jvm=jvm)
    yield session
    session.stop()
    jvm.close()


@pytest.fixture
def kafka_spark(spark: SparkSession) -> SparkSession:
    """The session, where it reads from Kafka."""
    if "kafka" not in spark.conf.get("spark.jars", ""):
        pytest.skip("the jars of Spark's Kafka source cannot be fetched here")
    return spark
