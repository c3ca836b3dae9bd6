"""Tables and columns, read from the data dictionary."""
