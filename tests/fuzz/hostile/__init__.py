"""Records that nobody should write, and the chains that they pass."""
