"""Declared or sampled schemas of documents, and conversion of columns of documents to them."""
