"""JSON: the compiler of its programs, and exact rendering in Python."""
