"""Secrets that change: files, programs and tokens of clouds, which connections look up."""
