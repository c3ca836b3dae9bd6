"""Reads of rows by queries: COPY, snapshots, chunks and look-ups."""
