"""MongoDB: headrace beside Debezium and a raw cursor."""
