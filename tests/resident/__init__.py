"""A `headrace` that is there already."""
