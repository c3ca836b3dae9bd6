"""The parts of every connector: protocols, the engine, the registry, metrics and heartbeats."""
