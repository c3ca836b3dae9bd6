"""What is read at once: logs and views of the redo, sessions of LogMiner, and pauses."""
