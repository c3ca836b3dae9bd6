"""DDL statements of the redo, and how they change tables."""
