"""A server that IBM's driver accepts as Db2: Apache Derby with a bridge in front of it, and a
simulator of the Capture program of SQL replication. For the demo, the benchmark and the tests."""
