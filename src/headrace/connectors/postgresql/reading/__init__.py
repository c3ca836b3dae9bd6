"""Rows that queries read: COPY, snapshots, chunks and look-ups."""
