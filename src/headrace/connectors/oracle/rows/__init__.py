"""Rows as the driver gives them, many at once, to row images."""
