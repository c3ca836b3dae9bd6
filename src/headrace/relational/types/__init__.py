"""Column types that databases share: numbers, bytes and times in each mode."""
