"""Fixtures of the session for tests of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sinks.lake.jars import require_delta

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def delta(spark: SparkSession) -> SparkSession:
    """The session, where it has Delta."""
    require_delta(spark)
    return spark
