"""Many documents at once, as columns."""
