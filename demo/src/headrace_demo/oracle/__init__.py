"""Scripts of what happens in an Oracle database: its tables, its redo, its logs. For the demo, the
benchmark and the tests."""
