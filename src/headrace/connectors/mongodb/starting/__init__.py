"""How a stream begins: its first position, stored positions, and the log after them."""
