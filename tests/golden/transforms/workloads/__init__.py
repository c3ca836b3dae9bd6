"""The configurations that are recorded, a list per transform."""
