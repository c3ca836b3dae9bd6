"""BSON documents processed as columns, many at a time."""
