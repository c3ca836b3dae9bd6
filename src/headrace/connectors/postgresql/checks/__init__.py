"""Checks of a PostgreSQL server: findings with remedies."""
