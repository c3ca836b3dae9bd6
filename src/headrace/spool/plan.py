"""The plan of a range: its rows in a segment of their own, slice by slice, which tasks map.

A task maps the plan and copies only its own rows, so the cost of a range does not grow with the
number of its slices.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np

from headrace.connect.rows import ORDER, ROW, TRANSACTION
from headrace.spool.segment import Segment

_NEW_SEGMENT = partial(Segment, 0)
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


def tables_of(
    plan: Segment, rows: int, transactions: int, *, counted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the tables of a plan with so many rows and transactions: the rows, the transactions,
    and the rows' orders if transactions are `counted`."""
    first = rows * ROW.itemsize
    second = first + transactions * TRANSACTION.itemsize
    orders = plan.array[second : second + rows * ORDER.itemsize].view(ORDER) if counted else None
    return plan.array[:first].view(ROW), plan.array[first:second].view(TRANSACTION), orders


def plan_bytes(rows: int, transactions: int, *, counted: bool) -> int:
    """Return the bytes of a plan with so many rows and transactions."""
    of_row = ROW.itemsize + (ORDER.itemsize if counted else 0)
    return rows * of_row + transactions * TRANSACTION.itemsize


def write_plan(
    rows: np.ndarray,
    transactions: np.ndarray,
    orders: np.ndarray | None = None,
    order: np.ndarray | None = None,
    reserve: Callable[[int], Segment] = _NEW_SEGMENT,
) -> Segment:
    """Return a segment, for InMemory, with the rows of a range in `order`, their transactions, and
    the rows' `orders` if transactions are counted, in memory that `reserve` returns."""
    counted = orders is not None
    plan = reserve(plan_bytes(len(rows), len(transactions), counted=counted))
    targets = tables_of(plan, len(rows), len(transactions), counted=counted)
    parts = [(rows, order), (transactions, None), (orders, order)]
    for (part, indexes), target in zip(parts, targets, strict=True):
        if part is None or target is None:
            continue
        if indexes is None:
            # As bytes: numpy copies structures field after field.
            target.view(np.uint8)[:] = np.ascontiguousarray(part).view(np.uint8)
        else:
            # `clip` writes to the target without an intermediate copy; every index is in bounds.
            np.take(part, indexes, out=target, mode="clip")
    return plan
