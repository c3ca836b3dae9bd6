"""Kafka Connect's transforms of headers."""
