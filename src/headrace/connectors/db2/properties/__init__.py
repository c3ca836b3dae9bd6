"""Declarations of the Db2 connector's own properties, one module per subject."""
