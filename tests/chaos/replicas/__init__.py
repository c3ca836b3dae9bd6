"""Replicas under kills: the tables of a lake equal their source in the end."""
