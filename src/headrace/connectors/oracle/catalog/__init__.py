"""What the data dictionary says of tables."""
