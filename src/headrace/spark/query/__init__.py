"""What a program gives to a query, and asks of it."""
