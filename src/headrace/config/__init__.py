"""Typed configurations of properties: declarations, references, secrets, and problems."""
