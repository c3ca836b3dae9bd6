"""A server that IBM's driver takes for a Db2: Apache Derby behind a bridge, and a simulator of the
Capture program of SQL replication. For the demo, the benchmark and the tests."""
