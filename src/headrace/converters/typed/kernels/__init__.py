"""Compiled writers of Spark's VARIANT."""
