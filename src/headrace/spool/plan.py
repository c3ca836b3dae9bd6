"""The plan of a range: its rows in a segment of their own, slice by slice, which tasks map.

A task maps the plan and copies only its own rows, so the cost of a range does not grow with the
number of its slices.
"""

from __future__ import annotations

import itertools

import numpy as np

from headrace.connect.rows import ORDER, ROW, TRANSACTION
from headrace.spool.segment import Segment

Span = tuple[int, int]
"""Rows [first, last) of a plan."""


def by_hash(hashes: np.ndarray, slices: int) -> tuple[np.ndarray | None, list[Span]]:
    """Return the order of the rows, slice by slice and each slice in log order (None: unchanged),
    and the spans of the slices; a slice without rows has none."""
    if slices == 1:
        return None, [(0, len(hashes))]
    share = (hashes % np.uint64(slices)).astype(np.uint16)  # so small numbers are sorted by radix
    ends = np.cumsum(np.bincount(share, minlength=slices)).tolist()
    spans = [(first, last) for first, last in itertools.pairwise([0, *ends]) if last > first]
    return np.argsort(share, kind="stable"), spans


def by_position(sizes: np.ndarray, slices: int) -> list[Span]:
    """Return contiguous spans with about the same number of bytes of log."""
    totals = np.cumsum(sizes)
    cuts = [0]
    for number in range(1, slices):
        at = int(np.searchsorted(totals, totals[-1] * number // slices))
        if at > cuts[-1]:
            cuts.append(at)
    cuts.append(len(sizes))
    return [(first, last) for first, last in itertools.pairwise(cuts) if last > first]


def write_plan(
    rows: np.ndarray,
    transactions: np.ndarray,
    orders: np.ndarray | None = None,
    order: np.ndarray | None = None,
) -> Segment:
    """Return a segment, for InMemory, with the rows of a range in `order`, their transactions, and
    the rows' `orders` if transactions are counted."""
    parts = [(rows, order, ROW), (transactions, None, TRANSACTION)]
    if orders is not None:
        parts.append((orders, order, ORDER))
    plan = Segment(0, sum(part.nbytes for part, _, _ in parts))
    at = 0
    for part, indexes, dtype in parts:
        target = plan.array[at : at + part.nbytes]
        # As bytes: numpy copies structures field after field.
        if indexes is None:
            target[:] = np.ascontiguousarray(part).view(np.uint8)
        else:
            # `clip` writes to the target without an intermediate copy; every index is in bounds.
            np.take(part, indexes, out=target.view(dtype), mode="clip")
        at += part.nbytes
    return plan
