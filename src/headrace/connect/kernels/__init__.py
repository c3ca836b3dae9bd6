"""Memory, texts and numbers for all kernels, and the compilation of entries and parts."""
