"""What routers of outboxes share, whatever their rows are."""
