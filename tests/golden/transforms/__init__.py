"""Results of the real transforms and predicates for records, and that ours are the same."""
