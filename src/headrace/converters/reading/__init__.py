"""Keys, values and headers that converters wrote, read into Records."""
