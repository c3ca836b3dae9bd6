"""Properties become a typed configuration: declarations, references, secrets, and problems."""
