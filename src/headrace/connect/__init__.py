"""Kafka Connect's model in columns: schemas, the row table, images, Records. No database is named
here."""
