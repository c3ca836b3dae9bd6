"""Found by Spark: makes `format("headrace_kafka")` known without registration."""

from headrace.sinks.kafka.sink import KafkaSink as DefaultSource

__all__ = ["DefaultSource"]
