"""The compiled pass over rows, and what the interpreters of programs share."""
