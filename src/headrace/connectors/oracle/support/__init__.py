"""Statements and the workload of a support bundle of Oracle."""
