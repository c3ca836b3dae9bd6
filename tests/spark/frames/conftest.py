"""Fixtures of the session for tests of DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def kafka_spark(spark: SparkSession) -> SparkSession:
    """The session, where it reads from Kafka."""
    if "kafka" not in spark.conf.get("spark.jars", ""):
        pytest.skip("the jars of Spark's Kafka source cannot be fetched here")
    return spark
