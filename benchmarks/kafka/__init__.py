"""The `kafka` sink beside a worker of Kafka Connect."""
