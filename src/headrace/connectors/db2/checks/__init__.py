"""Checks of a Db2: those of `headrace check`, and those that each start makes."""
