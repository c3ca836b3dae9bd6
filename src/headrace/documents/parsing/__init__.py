"""Extended JSON read into BSON bytes: by compiled kernels, and by plain Python what they leave."""
