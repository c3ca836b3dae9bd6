"""Schema history: the tables at each position of a log, in Debezium's records."""
