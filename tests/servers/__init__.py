"""Real servers for the tests."""
