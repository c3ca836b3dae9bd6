"""What converters wrote, read back: keys, values and headers become Records."""
