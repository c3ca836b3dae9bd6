"""Batches of changes, applied to the files of a table: the fold by key, the scan of keys,
merges."""
