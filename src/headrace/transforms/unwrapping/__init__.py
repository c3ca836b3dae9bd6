"""What takes rows and documents out of their envelopes shares."""
