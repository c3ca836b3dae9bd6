"""Registrations for SQL replication that this side writes: the statements, and their verbs."""
