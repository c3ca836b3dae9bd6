"""Values of nodes over Records as Arrow arrays, and columns that are made of values."""
