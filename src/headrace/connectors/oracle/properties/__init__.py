"""The declarations of the Oracle connector's own properties, by what they are about."""
