"""Values that the redo has apart from their rows: LOBs, XML and extended strings."""
