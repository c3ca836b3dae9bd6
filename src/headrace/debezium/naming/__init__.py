"""Names of topics, schemas and fields, as Debezium makes them."""
