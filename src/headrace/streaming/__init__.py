"""A log as repeatable ranges and slices: the receiver, and planning. It knows no database."""
