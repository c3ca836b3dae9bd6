"""Reads of the redo: logs, sessions of LogMiner, windows of SCNs, and pauses."""
