"""Forms without JSON's syntax: Avro, and the texts of Kafka Connect's String converters."""
