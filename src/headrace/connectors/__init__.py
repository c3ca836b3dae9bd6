"""What every connector is: protocols, the engine, the registry, metrics and heartbeats."""
