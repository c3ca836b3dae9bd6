"""Kafka Connect's transforms, one module each."""
