"""Common parts of the outbox routers, for rows and for documents."""
