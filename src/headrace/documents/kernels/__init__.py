"""Kernels over BSON."""
