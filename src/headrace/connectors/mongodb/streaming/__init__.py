"""The change stream: its cursor, its kernels, and the reader that writes it to the spool."""
