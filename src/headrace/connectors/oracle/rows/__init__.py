"""Batches of rows of the driver, converted to images."""
