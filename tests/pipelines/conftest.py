"""A Spark session that all streams of a module share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.spark.jvm.gateway import DriverJvm
from headrace.spark.session import build_session
from tests.pipelines.stream import Stream


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    # A JVM of its own: the sessions of other tests have other jars.
    jvm = DriverJvm(lambda line: print(line, file=sys.stderr))
    with pytest.MonkeyPatch.context() as patch:
        # Workers import transforms of these tests.
        root = str(Path(__file__).parents[2])
        patch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
        session = build_session("pipelines", master="local[2,1]", jvm=jvm)
        yield session
        session.stop()
    jvm.close()


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Callable[[Mapping[str, str]], Stream]:
    """Makes a stream of a connector with these properties."""
    return lambda properties: Stream(spark, tmp_path, properties)
