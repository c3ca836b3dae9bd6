"""Snapshots of existing rows, table by table and chunk by chunk. No database is named here."""
