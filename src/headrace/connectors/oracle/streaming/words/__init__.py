"""Rows of redo as the words that the buffer of transactions reads."""
