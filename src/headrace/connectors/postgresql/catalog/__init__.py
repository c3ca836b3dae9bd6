"""What PostgreSQL's catalogue says of tables, columns and types."""
