"""Compiled functions over BSON."""
