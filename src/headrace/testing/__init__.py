"""Embedded database servers for the demo, the tests and the benchmark."""
