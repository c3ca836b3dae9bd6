"""A log as repeatable ranges and slices: what receives it, and what cuts it. Knows no database."""
