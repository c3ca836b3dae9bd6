"""Mutated input for the decoders, in memory that ends where it is said to end."""
