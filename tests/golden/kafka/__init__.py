"""Files that users of Debezium have, run to a broker, beside Debezium's own run of them."""
