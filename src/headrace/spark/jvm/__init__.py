"""The JVM that Spark runs in: which Java, how it starts, where its processes meet."""
