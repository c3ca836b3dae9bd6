"""Batches of changes brought into the files of a table: keys, fold, scan."""
