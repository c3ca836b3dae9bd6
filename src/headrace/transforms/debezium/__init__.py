"""Debezium's transforms, a module each."""
