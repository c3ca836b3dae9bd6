"""Secrets that change: files, programs and tokens of clouds, read for each connection."""
