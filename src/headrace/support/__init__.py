"""Support bundles: a database's answers to the statements of a connector, with masked values."""
