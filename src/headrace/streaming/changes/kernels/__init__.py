"""Compiled functions that make the index's rows of changes. They have nothing of converters and
documents: what renders keys is called by its address."""
