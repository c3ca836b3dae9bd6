"""Comparison of replicas with their source while they are replicated: `headrace verify`."""
