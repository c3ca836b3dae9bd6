"""Compiled encoders of JSON, and the interpreter of programs that write it."""
