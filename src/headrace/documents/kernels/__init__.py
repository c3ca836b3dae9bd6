"""Compiled functions that process BSON."""
