"""Oracle's redo: how fast statements become events, and in how much memory a large transaction."""
