"""Schemas that documents are brought to: declared as texts, or found out from documents."""
