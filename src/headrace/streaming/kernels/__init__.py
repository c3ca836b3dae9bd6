"""Compiled functions over rows that were received."""
