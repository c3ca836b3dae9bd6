"""The start of a stream: its first position, stored positions, and the oplog that they need."""
