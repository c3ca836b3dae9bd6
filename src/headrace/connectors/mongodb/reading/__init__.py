"""How existing documents are read: by snapshots, and by chunks while the log goes on."""
