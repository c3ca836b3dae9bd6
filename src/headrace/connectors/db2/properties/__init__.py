"""The declarations of the Db2 connector's own properties, by what they are about."""
