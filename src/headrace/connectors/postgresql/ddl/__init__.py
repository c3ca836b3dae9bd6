"""Tables that other sessions change while a snapshot reads them: locks, lock waits, and changes
since a query was planned."""
