"""Registrations and tables, read from control tables and from the driver's metadata."""
