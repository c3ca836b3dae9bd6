"""Spark imports this package by its name: `format("headrace_kafka")` needs no registration."""

from headrace.sinks.kafka.sink import KafkaSink as DefaultSource

__all__ = ["DefaultSource"]
