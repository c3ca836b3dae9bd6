"""Queries into replicas, in the session of the tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.servers.postgresql import Database
from tests.sinks.lake.readers import LAKES
from tests.sinks.replicas.replication import Replication


@pytest.fixture
def replication(
    request: pytest.FixtureRequest, spark: SparkSession, database: Database, tmp_path: Path
) -> Replication:
    """A replication of `database` into a lake of the format that is the parameter."""
    lake = LAKES[request.param](tmp_path / "lake")
    return Replication(spark, database, lake, tmp_path / "state")
