"""Batches of rows of a driver, converted to images."""
