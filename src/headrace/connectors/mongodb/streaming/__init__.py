"""The change stream: its cursor, its kernels, and the reader that fills the spool with it."""
