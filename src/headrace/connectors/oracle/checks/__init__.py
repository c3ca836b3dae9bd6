"""Checks of an Oracle database: those of `headrace check`, and those that each start makes."""
