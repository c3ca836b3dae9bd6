"""Incremental snapshots: chunks between the changes of a running stream, and the windows that
deduplicate them."""
