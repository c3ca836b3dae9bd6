"""Finds numbers by ids in the memory of an IdTable."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load64
from headrace.connect.kernels.text import wrapping_multiply

SPREAD = 2654435761


@part
def find_number(table, mask, identity):
    """Return the number of an id in the memory of an IdTable, or -1."""
    entry = wrapping_multiply(identity, SPREAD) & mask
    while True:
        candidate = load64(table + 16 * entry)
        if candidate == identity:
            return load64(table + 16 * entry + 8)
        if candidate < 0:
            return -1
        entry = (entry + 1) & mask
