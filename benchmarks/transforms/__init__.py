"""Transforms and converters beside the same classes in Java, on the same records."""
