"""Declarations of the MongoDB connector's own properties, one module per subject."""
