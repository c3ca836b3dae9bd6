"""The jars that commits of replicas need: headrace pins their versions, the tests fetch them
once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from headrace.sinks.delta import session_catalog
from headrace.sinks.delta.format import FORMAT as DELTA
from headrace.sinks.iceberg.format import FORMAT as ICEBERG
from headrace.spark.jvm.jars import find_jars


def jars(coordinates: Sequence[str]) -> list[Path]:
    """The jars of Maven coordinates (`group:name:version`) without their dependencies. Raises
    HeadraceError("spark.jars_not_found")."""
    return find_jars(coordinates, None)


def iceberg_jars(options: Mapping[str, str] | None = None) -> list[Path]:
    """The jars of Iceberg's core and of the catalog that the options name (a JDBC catalog)."""
    return jars(ICEBERG.packages(options or {}))


def delta_jars() -> list[Path]:
    """The jars of Delta Kernel."""
    return jars(DELTA.packages({}))


def spark_delta_jars() -> list[Path]:
    """The jar of Delta's package for the installed Spark; empty if Delta has none for it."""
    return jars(session_catalog.packages()) if _has_spark_delta() else []


def _has_spark_delta() -> bool:
    return pyspark.__version__.rpartition(".")[0] in session_catalog.SPARK_RELEASES


def require_delta(spark: SparkSession) -> None:
    """Skip a test that needs Delta's package for Spark, in a session without it."""
    if not spark.conf.get("spark.sql.extensions", ""):
        pytest.skip(
            "Delta's package for Spark cannot be fetched here"
            if _has_spark_delta()
            else "Delta has no package for this Spark"
        )
