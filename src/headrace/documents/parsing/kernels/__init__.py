"""Compiled readers of Extended JSON."""
