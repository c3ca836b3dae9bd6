"""Extended JSON parsed to BSON: by kernels, and by Python for texts that kernels do not support."""
