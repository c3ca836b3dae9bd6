"""Changes become rows of the row table: keys, hashes, and skipped operations."""
