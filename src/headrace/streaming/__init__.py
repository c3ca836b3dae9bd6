"""A log as repeatable ranges and slices: the receiver, and planning. No database is named here."""
