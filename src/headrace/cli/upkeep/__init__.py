"""Verbs that maintain what sinks keep, tables and files: `maintain`, `resync` and `verify`."""
