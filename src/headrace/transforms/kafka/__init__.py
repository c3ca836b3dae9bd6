"""Kafka Connect's transforms, a module each."""
