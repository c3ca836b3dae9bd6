"""headrace, Debezium Engine and Spark's JDBC source in turn on one PostgreSQL server."""
