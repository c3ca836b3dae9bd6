"""The console sink: one readable line per event."""
