"""Data files and deletion vectors, written and read as Iceberg and Delta need them."""
