"""BSON documents: walked and checked, and written as Extended JSON."""
