"""Debezium's connectors, native to Apache Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.packing import options
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["HeadraceError", "__version__", "options", "register"]

__version__ = "0.1.0"


def register(spark: SparkSession) -> None:
    """Make `format("headrace")` known to a session (Spark also finds it by itself)."""
    from headrace.spark.source import HeadraceDataSource

    spark.dataSource.register(HeadraceDataSource)
