"""Kafka Connect's transforms of times."""
