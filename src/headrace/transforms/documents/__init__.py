"""Transforms of change events whose rows are documents, one module each."""
