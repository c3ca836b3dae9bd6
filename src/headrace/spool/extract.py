"""Planned rows on their way to tasks: a file of rows beside the segments, or bytes in the slice."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.connect.kernels.memory import PADDING, address_of, copy, kernel, load64, store64
from headrace.connect.rows import ORDER, ROW, TRANSACTION, RowTable, offset_in_row
from headrace.spool.segment import MappedSegment

_OLD, _NEW, _OTHER = offset_in_row("old"), offset_in_row("new"), offset_in_row("other")
_SIZE = offset_in_row("size")
_ROW_SIZE = ROW.itemsize


@dataclass(frozen=True)
class SegmentPart:
    """A segment as a task opens it: path, token, and its virtual addresses [start, end)."""

    path: str
    token: bytes
    start: int
    end: int


@dataclass(frozen=True)
class InMemory:
    """Rows and transactions in a plan (see plan.py), images in the source's segments."""

    path: str
    token: bytes
    row_count: int
    transaction_count: int
    segments: tuple[SegmentPart, ...]
    counted: bool = False

    def load(self, first: int, last: int) -> RowTable:
        """Rows [first, last) with real addresses. Raises HeadraceError("spool.segment_gone")."""
        planned = MappedSegment(self.path, self.token, 0)
        rows = np.frombuffer(planned.map, ROW, last - first, first * ROW.itemsize).copy()
        at = self.row_count * ROW.itemsize
        transactions = np.frombuffer(planned.map, TRANSACTION, self.transaction_count, at)
        kept: list[object] = [planned]
        for part in self.segments:
            if _touches(rows, part.start, part.end):
                segment = MappedSegment(part.path, part.token, part.start)
                relocate(rows, part.start, part.end, segment.base - part.start)
                kept.append(segment)
        orders = None
        if self.counted:
            at += self.transaction_count * TRANSACTION.itemsize + first * ORDER.itemsize
            orders = np.frombuffer(planned.map, ORDER, last - first, at)
        return RowTable(rows, transactions, tuple(kept), orders)


@dataclass(frozen=True)
class Inline:
    """Rows, transactions and images as bytes, for executors on other hosts."""

    rows: bytes
    transactions: bytes
    images: bytes
    orders: bytes | None = None

    def load(self) -> RowTable:
        """The rows with real addresses."""
        rows = np.frombuffer(self.rows, ROW).copy()
        images = np.frombuffer(self.images + bytes(PADDING), np.uint8)
        relocate(rows, 1, len(images) + 1, address_of(images) - 1)
        orders = None if self.orders is None else np.frombuffer(self.orders, ORDER)
        return RowTable(rows, np.frombuffer(self.transactions, TRANSACTION), (images,), orders)


def _touches(rows: np.ndarray, start: int, end: int) -> bool:
    return any(bool(((rows[name] >= start) & (rows[name] < end)).any()) for name in ("new", "old"))


def relocate(rows: np.ndarray, start: int, end: int, delta: int) -> None:
    """Add `delta` to every address in [start, end); in place. Relocated addresses must not fall
    into a range that is relocated later, which virtual addresses never do."""
    for name in ("old", "new", "other"):
        column = rows[name]
        inside = (column >= start) & (column < end)
        column[inside] += delta


@kernel
def _gather(rows, count, images, capacity):
    """Copy the frames of `count` rows together and point the rows at the copies (1-based).
    Records of one frame share its copy. Returns the bytes used, or -1 for lack of room."""
    used = 0
    last = np.int64(0)
    last_to = np.int64(0)
    for i in range(count):
        row = rows + _ROW_SIZE * i
        first = np.int64(0)
        for field in (_OLD, _NEW, _OTHER):
            address = load64(row + field)
            if address and (first == 0 or address < first):
                first = address
        if first == 0:
            continue
        size = load64(row + _SIZE)
        if first != last:
            if used + size + PADDING > capacity:
                return -1
            copy(first, size, images + used)
            last = first
            last_to = used + 1
            used += size
        for field in (_OLD, _NEW, _OTHER):
            address = load64(row + field)
            if address:
                store64(row + field, last_to + address - first)
    return used


def pack_inline(
    rows: np.ndarray, transactions: np.ndarray, orders: np.ndarray | None = None
) -> Inline:
    """Rows with real addresses → a slice that carries everything.

    `size` of a row bounds the bytes from its first image to the end of its last one.
    """
    rows = np.ascontiguousarray(rows).copy()
    images = np.empty(int(rows["size"].sum()) + PADDING * 2, np.uint8)
    used = _gather(address_of(rows), len(rows), address_of(images), len(images))
    assert used >= 0
    needed, rows["transaction"] = np.unique(rows["transaction"], return_inverse=True)
    return Inline(
        rows.tobytes(),
        transactions[needed].tobytes(),
        images[:used].tobytes(),
        None if orders is None else orders.tobytes(),
    )
