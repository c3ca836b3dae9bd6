"""Sinks: a folder with a definition for each, and the replicas that Iceberg and Delta share."""
