"""The compiled pass over rows, and parts that all interpreters use."""
