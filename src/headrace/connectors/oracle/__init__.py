"""The Oracle connector: redo logs, read by LogMiner."""
