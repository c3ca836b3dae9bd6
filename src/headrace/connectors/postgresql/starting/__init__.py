"""The start of a stream: from a configuration and a stored position to an open log."""
