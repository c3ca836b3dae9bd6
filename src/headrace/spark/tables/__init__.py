"""Tables as typed columns: of a stream's schema, of events from anywhere, and folded by key."""
