"""The records that the transforms are recorded with, in Kafka Connect's JSON form."""
