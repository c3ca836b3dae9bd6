"""What a support bundle asks of a Db2."""
