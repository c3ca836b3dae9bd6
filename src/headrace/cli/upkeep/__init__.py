"""Verbs that maintain the tables and files of sinks: `maintain`, `resync` and `verify`."""
