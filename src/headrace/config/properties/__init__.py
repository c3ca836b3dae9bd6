"""The declarations of properties: those that connectors share, by what they are about."""
