"""Rows of redo as int64 words, which the kernels of open transactions read."""
