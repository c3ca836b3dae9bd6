"""Rows as a driver gives them, many at once, to row images."""
