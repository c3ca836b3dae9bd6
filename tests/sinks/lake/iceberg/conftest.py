"""An Iceberg catalog in a folder of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.sinks.replicas.lake import Lake
from tests.sinks.lake.iceberg.replica import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """A JDBC catalog on SQLite, whose warehouse is `tmp_path`."""
    yield from opened(spark, {"warehouse": str(tmp_path)})
