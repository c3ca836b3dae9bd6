"""Checks of a Db2 database: those of `headrace check`, and those that each start makes."""
