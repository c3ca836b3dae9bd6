"""The common parts of relational databases: tables, captured columns, events, checks."""
