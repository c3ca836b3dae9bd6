"""The contract and the registry of sinks, and sinks of Spark's own formats."""
