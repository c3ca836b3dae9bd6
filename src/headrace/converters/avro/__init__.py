"""Avro with a schema registry, as Confluent's converter for Kafka Connect writes it."""
