"""Reading rows in SQL: the tables of a snapshot, chunks between keys, and their statements."""
