"""What is looked at before the stream is opened, and how its parts are put together."""
