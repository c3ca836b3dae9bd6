"""Signals that databases with tables hold."""
