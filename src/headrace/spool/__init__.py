"""Received log in shared memory (segments), its index, and planned rows for tasks."""
