"""Existing rows, table by table and chunk by chunk. Knows no database."""
