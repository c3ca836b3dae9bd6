"""Common parts of the relational connectors: tables, captured columns, events, checks."""
