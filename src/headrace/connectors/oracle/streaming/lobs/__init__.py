"""Values that the log holds apart from their rows: LOBs, XML and extended strings (lob.enabled)."""
