"""Data files and deletion vectors, written and read as both formats need them."""
