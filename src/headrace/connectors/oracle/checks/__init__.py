"""Checks of an Oracle: those of `headrace check`, and those that each start makes."""
