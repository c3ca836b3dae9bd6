"""Redo, fetched in windows, held by transaction until its commit, and written to segments."""
