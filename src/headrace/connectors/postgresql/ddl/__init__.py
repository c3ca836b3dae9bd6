"""Concurrent DDL while a snapshot reads tables: locks, lock waits, and changes since a query was
planned."""
