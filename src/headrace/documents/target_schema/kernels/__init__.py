"""Compiled functions that bring values of BSON to a schema."""
