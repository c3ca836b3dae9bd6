"""Kernels that count the rows of transactions."""
