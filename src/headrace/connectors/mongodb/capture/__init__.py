"""Captured namespaces, and the pipeline with which the server filters the change stream."""
