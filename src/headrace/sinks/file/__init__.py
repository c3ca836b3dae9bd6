"""The `file` sink: events as JSON lines in total order, exactly once."""
