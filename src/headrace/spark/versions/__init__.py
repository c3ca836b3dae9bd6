"""Differences between versions of Spark: above all how it asks a source for micro-batches (decision
27)."""
