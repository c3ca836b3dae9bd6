"""Replicas compared with their source while they are replicated: `headrace verify`."""
