"""Oracle's types: which schema a column has, and how its text is read."""
