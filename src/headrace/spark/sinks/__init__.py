"""The contract of sinks, and what those share that write where the events are read."""
