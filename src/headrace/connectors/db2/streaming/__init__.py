"""Changes, read from change tables, put in order, paired, and written to segments."""
