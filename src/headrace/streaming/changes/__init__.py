"""Changes to rows of the row table: their keys, hashes, and what is left out."""
