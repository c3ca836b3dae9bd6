"""Compiled functions that convert values of BSON to the types of a schema."""
