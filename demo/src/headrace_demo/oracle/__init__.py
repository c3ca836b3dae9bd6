"""A stand-in for Oracle: a server with LogMiner sessions and views on SQLite, and its driver."""
