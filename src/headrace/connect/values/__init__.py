"""Values in Python, many of one schema at once."""
