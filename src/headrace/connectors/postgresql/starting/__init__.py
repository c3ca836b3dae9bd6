"""From a configuration to a position in the log and an open stream: checked, made, gone on with."""
