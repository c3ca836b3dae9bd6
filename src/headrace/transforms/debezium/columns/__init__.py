"""Transforms of columns of certain types, and of the parameters of their schemas."""
