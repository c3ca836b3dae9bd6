"""Values of one schema in Python, many at once."""
