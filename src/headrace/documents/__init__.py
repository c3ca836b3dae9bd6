"""BSON documents: validated, filtered, and written as Extended JSON."""
