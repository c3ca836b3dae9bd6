"""Registrations of SQL replication that headrace writes: their SQL, and the verbs for them."""
