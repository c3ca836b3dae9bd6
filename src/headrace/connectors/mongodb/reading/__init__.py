"""Existing documents, read by snapshots and by chunks of incremental snapshots."""
