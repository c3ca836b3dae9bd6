"""Fixtures of the session for tests of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def delta(spark: SparkSession) -> SparkSession:
    """The session, where it has Delta."""
    if not spark.conf.get("spark.sql.extensions", ""):
        pytest.skip("Delta's jars cannot be fetched here")
    return spark
