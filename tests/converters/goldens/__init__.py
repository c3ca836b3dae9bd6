"""What the real converters of Kafka Connect, Confluent and Debezium write."""
