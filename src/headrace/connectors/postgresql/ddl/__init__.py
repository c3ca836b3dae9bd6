"""Tables whose structure other sessions change while their rows are read: locks, who waits for
them, and whether a table still is what a query was planned for."""
