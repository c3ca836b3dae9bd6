"""Readers of keys, values and headers that converters wrote, into Records."""
