"""Spark imports this package by its name: `format("headrace")` needs no registration."""

from headrace.spark.data_source import HeadraceDataSource as DefaultSource

__all__ = ["DefaultSource"]
