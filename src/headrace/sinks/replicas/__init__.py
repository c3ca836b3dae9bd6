"""Replicas: tables of a lake that stay equal to their source, in any table format."""
