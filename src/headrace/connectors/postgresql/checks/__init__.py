"""Whether a database is ready for the connector: findings with remedies."""
