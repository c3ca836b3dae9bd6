"""Compiled readers of keys, values and headers that converters wrote."""
