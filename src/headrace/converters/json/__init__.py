"""What JSON writes: numbers, floats, times and other cells."""
