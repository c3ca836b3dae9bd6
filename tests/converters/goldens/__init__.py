"""Output of the real converters of Kafka Connect, Confluent and Debezium."""
