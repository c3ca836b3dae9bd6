"""Transforms of columns of certain types, and of parameters of their schemas."""
