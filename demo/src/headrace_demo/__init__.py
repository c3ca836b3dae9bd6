"""Stand-ins for Oracle and Db2, which the demos and the tests of headrace's connectors start."""
