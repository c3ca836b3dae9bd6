"""Offsets: a position in a log, the progress of snapshots and signals, and their JSON."""
