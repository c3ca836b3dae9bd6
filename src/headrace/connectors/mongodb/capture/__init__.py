"""What the change stream captures: namespaces, and the pipeline of the server."""
