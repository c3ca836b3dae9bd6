"""Formats of an event log's files: a contract, and one module for each."""
