"""Spark with Delta Kernel's jars, and a lake on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.sinks.delta.format import FORMAT
from headrace.sinks.replicas.lake import Lake
from headrace.spark.jvm.gateway import DriverJvm
from headrace.spark.session import build_session
from tests.sinks.lake.jars import delta_jars, spark_delta_jars
from tests.spark.worker_session import WorkerSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARKS_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.memory": "1g",
}


@pytest.fixture(scope="module")
def kernel_spark(worker_session: WorkerSession) -> Iterator[SparkSession]:
    """A session with the jars that the sink asks for, and no others."""
    files = delta_jars()
    worker_session.close()
    with _session(files, {}) as session:
        yield session


@pytest.fixture(scope="module")
def delta_spark(worker_session: WorkerSession) -> Iterator[SparkSession]:
    """A session that has Spark's own Delta, too; skips if Delta has none for this Spark."""
    package = spark_delta_jars()
    if not package:
        pytest.skip("Delta has no package for this Spark")
    worker_session.close()
    with _session([*delta_jars(), *package], _SPARKS_SETTINGS) as session:
        yield session


@pytest.fixture
def lake(kernel_spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """A lake in `tmp_path / "lake"`."""
    opened = FORMAT.open(kernel_spark, {"path": str(tmp_path / "lake")})
    yield opened
    opened.close()


@contextmanager
def _session(files: Sequence[Path], settings: dict[str, str]) -> Iterator[SparkSession]:
    jvm = DriverJvm(lambda line: print(line, file=sys.stderr))
    settings = {"spark.jars": ",".join(map(str, files)), **settings}
    session = build_session("tests", master="local[1]", settings=settings, jvm=jvm)
    yield session
    session.stop()
    jvm.close()
