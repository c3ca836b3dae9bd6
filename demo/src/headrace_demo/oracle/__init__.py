"""A stand-in for Oracle: a server with sessions of LogMiner and views on SQLite, and its driver."""
