"""Kafka's client: its settings, logins and administration."""
