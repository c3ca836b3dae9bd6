"""Values of one type made values of another."""
