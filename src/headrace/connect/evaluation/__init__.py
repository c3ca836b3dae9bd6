"""Values of nodes over Records as Arrow arrays, and columns made of values."""
