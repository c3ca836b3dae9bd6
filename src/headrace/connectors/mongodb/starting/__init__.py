"""The start of a stream: its first position, stored positions, and the log after them."""
