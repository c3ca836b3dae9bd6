"""The JVM that Spark runs in: the choice of Java, its start, and the sockets of its processes."""
