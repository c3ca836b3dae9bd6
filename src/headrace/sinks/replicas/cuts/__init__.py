"""Consistent cuts: versions of several tables at one position of the source."""
