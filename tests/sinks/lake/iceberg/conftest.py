"""An Iceberg catalog in a folder of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.replicas.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    """A JDBC catalog on SQLite, whose warehouse is `tmp_path`."""
    try:
        opened = FORMAT.open(spark, {"warehouse": str(tmp_path)})
    except HeadraceError as error:
        if error.code == "iceberg.jars_missing":
            pytest.skip(error.message)
        raise
    yield opened
    opened.close()
