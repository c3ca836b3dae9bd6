"""Comparison of bytes, for compiled code."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8


@part
def same_bytes(a, size_a, b, size_b):
    """Return whether the `size_a` bytes at the address `a` are the `size_b` bytes at `b`."""
    if size_a != size_b:
        return False
    difference = np.int64(0)
    for i in range(size_a):
        difference |= load8(a + i) ^ load8(b + i)
    return difference == 0
