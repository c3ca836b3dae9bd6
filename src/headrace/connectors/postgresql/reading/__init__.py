"""How rows are read by queries: COPY, snapshots that hold, chunks, look-ups."""
