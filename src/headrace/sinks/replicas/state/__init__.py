"""The state of replicas beside their tables: kept changes, stopped and renamed tables, resyncs."""
