"""The `event-log` sink: events as immutable files by topic and hour, exactly once."""
