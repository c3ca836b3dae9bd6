"""Column types: what a mode makes of numbers, bytes and times."""
