"""Replication: the protocol's frames, slots, publications and what receives the log."""
