"""Compares cells of two images byte by byte."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.connect.evaluation.gathering import gather
from headrace.connect.images import CELL_BYTES, has_value
from headrace.connect.kernels.equality import same_bytes
from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import address_of, load64, store8
from headrace.connect.records import Cell, Records


@entry
def _same_cells(ones, others, count, out, stride):
    """Store whether cells have the same kind and bytes, as a byte each at every `stride` of
    `out`."""
    for i in range(count):
        cell, other = ones + CELL_BYTES * i, others + CELL_BYTES * i
        kind = load64(cell)
        same = kind == load64(other)
        if same and has_value(kind):
            same = same_bytes(
                load64(cell + 8), load64(cell + 16), load64(other + 8), load64(other + 16)
            )
        store8(out + stride * i, 1 if same else 0)


def same_cells(records: Records, pairs: Sequence[tuple[Cell, Cell]]) -> np.ndarray:
    """Return whether the two cells of each pair have the same kind and bytes (bool, records ×
    pairs).

    Equal cells of one form have the same value; different cells may have it, too: `1.0` and `1.00`.
    """
    count = len(records)
    same = np.zeros((count, len(pairs)), np.uint8)
    cells = gather(records, list(dict.fromkeys(cell for pair in pairs for cell in pair)))
    for place, (left, right) in enumerate(pairs):
        _same_cells(
            address_of(cells[left]),
            address_of(cells[right]),
            count,
            address_of(same) + place,
            len(pairs),
        )
    return same.view(np.bool_)
