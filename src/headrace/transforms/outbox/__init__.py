"""What outbox routers share, for rows and for documents."""
