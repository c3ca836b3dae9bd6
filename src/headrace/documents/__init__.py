"""BSON documents: checked, filtered, and written as Extended JSON."""
