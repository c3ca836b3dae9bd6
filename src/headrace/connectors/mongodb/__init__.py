"""The MongoDB connector: change streams and documents."""
