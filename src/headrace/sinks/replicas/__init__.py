"""Replicas: tables of a lake that stay equal to their source, whatever the table format."""
