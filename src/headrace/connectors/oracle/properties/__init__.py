"""Declarations of the Oracle connector's own properties, one module per subject."""
