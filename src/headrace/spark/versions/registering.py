"""Sources in Python that a session is to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

_KNOWN = "DATA_SOURCE_ALREADY_EXISTS"  # a condition of Spark


def register(spark: SparkSession, source: type[DataSource]) -> None:
    """Make a source known by its name. Spark 4.0 refuses one that it has found by itself."""
    from pyspark.errors import AnalysisException

    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        if _KNOWN not in str(error):
            raise
