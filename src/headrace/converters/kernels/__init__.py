"""The compiled pass over rows, and kernels that all interpreters use."""
