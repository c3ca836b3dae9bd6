"""Database servers of our own, for the demo, the tests and the benchmark."""
