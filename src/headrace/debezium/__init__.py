"""Debezium's formats, which are the same for all databases: envelope, source block, keys, logical
types, names."""
