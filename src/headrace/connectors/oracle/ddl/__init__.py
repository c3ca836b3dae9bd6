"""Statements that change tables, as the redo has them."""
