"""Declarations of the properties that connectors share, one module per subject."""
