"""Where a query is: a position in its log, and how far snapshots and signals are."""
