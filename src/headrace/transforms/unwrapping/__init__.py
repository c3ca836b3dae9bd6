"""Common parts of the transforms that extract rows and documents from their envelopes."""
