"""What a support bundle asks of an Oracle."""
