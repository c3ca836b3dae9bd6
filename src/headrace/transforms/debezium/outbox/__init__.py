"""The router of outbox tables."""
