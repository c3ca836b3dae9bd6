"""Records become keys, values and headers: converters, their programs, and batches of output."""
