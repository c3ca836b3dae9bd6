"""What a sink of replicas keeps of its tables in its folder of state."""
