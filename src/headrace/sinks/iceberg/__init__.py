"""Replica tables in Iceberg's format: files by Arrow, commits by Iceberg's core in Spark's JVM."""
