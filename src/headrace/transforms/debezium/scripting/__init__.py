"""Transforms with an expression: Filter and ContentBasedRouter."""
