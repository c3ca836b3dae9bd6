"""Existing rows, table by table and chunk by chunk. It knows no database."""
