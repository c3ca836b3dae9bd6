"""Streams of the session that all tests share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipelines.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Callable[[Mapping[str, str]], Stream]:
    """Makes a stream of a connector with these properties."""
    return lambda properties: Stream(spark, tmp_path, properties)
