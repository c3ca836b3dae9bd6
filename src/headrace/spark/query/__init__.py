"""Options that a program passes to a query, and the status that it reads of the query."""
