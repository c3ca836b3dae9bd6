"""Existing rows: snapshots, chunks of incremental snapshots, and their SQL."""
