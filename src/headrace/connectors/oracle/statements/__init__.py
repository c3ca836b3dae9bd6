"""What statements of `headrace.connectors.oracle.sql` consist of."""
