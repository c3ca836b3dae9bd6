"""The start of Spark's Python processes on a busy machine (decision 28)."""
