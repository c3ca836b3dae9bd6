"""Db2's types: the schema of a column, and how its text is read."""
