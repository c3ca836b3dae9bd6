"""Tables, columns and types, read from PostgreSQL's catalogue."""
