"""Kafka Connect's model in columns: schemas, the row table, images, Records. It knows no
database."""
