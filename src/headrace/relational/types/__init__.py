"""Types of columns that databases share: numbers, bytes and times in each mode."""
