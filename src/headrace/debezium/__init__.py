"""Debezium's formats, whatever the database: envelope, source block, keys, logical types, names."""
