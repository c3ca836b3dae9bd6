"""Extended JSON parsed to BSON: by kernels, and by Python where kernels stop."""
