"""PostgreSQL's types: the schema of a column, and the decoding of its text."""
