"""The start of a stream: checks of the database and the stored position, and the parts of a run."""
