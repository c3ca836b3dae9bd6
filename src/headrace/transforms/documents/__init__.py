"""Transforms of change events whose rows are documents, a module each."""
