"""Memory, texts and numbers for all kernels, and how entries and parts are compiled."""
