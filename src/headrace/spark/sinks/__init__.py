"""Readers that write to a sink where the events are read, and what ends their micro-batches."""
