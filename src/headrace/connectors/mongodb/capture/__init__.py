"""Captured namespaces, and the pipeline that the server filters the change stream with."""
