"""Converters that render records as keys, values and headers, their programs, and batches of
output."""
