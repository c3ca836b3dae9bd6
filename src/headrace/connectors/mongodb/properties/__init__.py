"""The declarations of the MongoDB connector's own properties, by what they are about."""
