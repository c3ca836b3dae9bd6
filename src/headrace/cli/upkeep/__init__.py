"""Verbs that maintain the tables of replicas: `maintain`, `resync` and `verify`."""
