"""Application of batches of changes to the files of a table: the fold by key, the scan for keys,
the merge."""
