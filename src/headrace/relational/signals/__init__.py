"""The signal table over a driver's connection."""
