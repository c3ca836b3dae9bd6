"""Delta tables that headrace writes: files by PyArrow, commits by Delta Kernel in Spark's JVM."""
