"""What the real transforms and predicates make of records, and that ours make the same."""
