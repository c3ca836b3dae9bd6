"""What transforms share that take rows and documents out of their envelopes."""
