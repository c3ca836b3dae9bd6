"""Logical replication: frames of its protocol, slots, publications, and the reader of the log."""
