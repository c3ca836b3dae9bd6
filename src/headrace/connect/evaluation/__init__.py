"""What nodes hold over Records, as Arrow arrays, and the way back to columns."""
