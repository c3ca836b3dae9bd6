"""Schema history: how tables were at each place of a log, in Debezium's records."""
