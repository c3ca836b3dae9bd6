"""Replicas, Spark's MERGE and PyIceberg's upsert in turn on the same changes of PostgreSQL."""
