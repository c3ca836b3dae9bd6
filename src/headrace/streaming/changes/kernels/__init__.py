"""Compiled functions that make the index's rows of changes. They import nothing of converters and
documents: the kernels that render keys are called by address."""
