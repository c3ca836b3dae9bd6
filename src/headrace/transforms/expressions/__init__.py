"""Expressions over records: one tree for several languages, one evaluator over columns."""
