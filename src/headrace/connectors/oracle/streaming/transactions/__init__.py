"""Open transactions: what is held of them, in memory and in files, until they are written."""
