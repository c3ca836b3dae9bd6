"""Compiled readers of what converters wrote."""
