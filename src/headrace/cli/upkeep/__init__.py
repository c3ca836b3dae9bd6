"""Verbs that maintain the tables of replicas: `maintain` and `resync`."""
