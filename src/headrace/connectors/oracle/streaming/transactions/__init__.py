"""Open transactions, held in memory and in files until their commit."""
