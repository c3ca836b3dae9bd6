"""Verbs that look after the tables of a query."""
