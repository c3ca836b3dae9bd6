"""What relational databases share: tables, captured columns, events, checks."""
