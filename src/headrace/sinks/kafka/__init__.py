"""The `kafka` sink: events as records of Kafka's topics, exactly once."""
