"""Schemas for documents, declared or sampled, and columns of documents converted to them."""
