"""Found by Spark: makes `format("headrace")` known without registration."""

from headrace.spark.source import HeadraceDataSource as DefaultSource

__all__ = ["DefaultSource"]
