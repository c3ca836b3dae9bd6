"""Columns of tables that follow those of the source."""
