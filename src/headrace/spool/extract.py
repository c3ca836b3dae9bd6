"""Planned rows for tasks: in the file of a plan, with the segments, or as bytes in the slice."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,assignment"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import PADDING, address_of, copy, load64, store64
from headrace.connect.rows import (
    ADDRESSES,
    ORDER,
    ROW,
    TRANSACTION,
    RowTable,
    offset_in_row,
    offset_in_transaction,
)
from headrace.spool.segment import MappedSegment

_OLD, _NEW = offset_in_row("old"), offset_in_row("new")
_COUNTERPART, _EXTRA = offset_in_row("counterpart"), offset_in_row("extra")
_SIZE = offset_in_row("size")
_ROW_SIZE = ROW.itemsize
_TRANSACTION_SIZE = TRANSACTION.itemsize
_IMAGE, _IMAGE_SIZE = offset_in_transaction("image"), offset_in_transaction("size")


@dataclass(frozen=True)
class SegmentPart:
    """A segment for tasks to open: path, token, and its virtual addresses [start, end)."""

    path: str
    token: bytes
    start: int
    end: int


@dataclass(frozen=True)
class InMemory:
    """Rows and transactions in a plan's segment (see plan.py), images in the source's segments."""

    path: str
    token: bytes
    row_count: int
    transaction_count: int
    segments: tuple[SegmentPart, ...]
    counted: bool = False

    def load(self, first: int, last: int) -> RowTable:
        """Return rows [first, last) with real addresses. Raises
        HeadraceError("spool.segment_gone")."""
        planned = MappedSegment(self.path, self.token, 0)
        size = ROW.itemsize
        planned_rows = np.frombuffer(planned.map, np.uint8, (last - first) * size, first * size)
        rows = planned_rows.copy().view(ROW)
        at = self.row_count * ROW.itemsize
        transactions = np.frombuffer(planned.map, TRANSACTION, self.transaction_count, at)
        if transactions["image"].any():
            transactions = transactions.copy()
        segments: list[object] = [planned]
        moves = np.array([(part.start, part.end, 0, 0) for part in self.segments], np.int64)
        if last - first < self.row_count:
            _relocate(rows, transactions, moves)  # finds the segments that these rows need
        else:
            moves[:, 3] = 1
        for number in np.flatnonzero(moves[:, 3]):
            part = self.segments[number]
            segment = MappedSegment(part.path, part.token, part.start)
            moves[number, 2] = segment.base - part.start
            segments.append(segment)
        _relocate(rows, transactions, moves)
        orders = None
        if self.counted:
            at += self.transaction_count * TRANSACTION.itemsize + first * ORDER.itemsize
            orders = np.frombuffer(planned.map, ORDER, last - first, at)
        return RowTable(rows, transactions, tuple(segments), orders)


@dataclass(frozen=True)
class Inline:
    """Rows, transactions and images as bytes, for executors on other hosts."""

    rows: bytes
    transactions: bytes
    images: bytes
    orders: bytes | None = None

    def load(self) -> RowTable:
        """Return the rows with real addresses."""
        rows = np.frombuffer(self.rows, ROW).copy()
        images = np.frombuffer(self.images + bytes(PADDING), np.uint8)
        transactions = np.frombuffer(self.transactions, TRANSACTION).copy()
        relocate(rows, transactions, 1, len(images) + 1, address_of(images) - 1)
        orders = None if self.orders is None else np.frombuffer(self.orders, ORDER)
        return RowTable(rows, transactions, (images,), orders)


def relocate(rows: np.ndarray, transactions: np.ndarray, start: int, end: int, delta: int) -> None:
    """Add `delta` to every address in [start, end), in place."""
    _relocate(rows, transactions, np.array([(start, end, delta, 0)], np.int64))


def _relocate(rows: np.ndarray, transactions: np.ndarray, moves: np.ndarray) -> None:
    """Add the delta of a move to every address in its range, in place. Each of the `moves` is four
    int64: first address, end, delta, and a flag that becomes 1 if an address is in the range."""
    table, count = address_of(moves), len(moves)
    for entries, size, first, fields in (
        (rows, _ROW_SIZE, _OLD, len(ADDRESSES)),
        (transactions, _TRANSACTION_SIZE, _IMAGE, 1),
    ):
        assert entries.flags.c_contiguous
        relocate_entries(address_of(entries), len(entries), size, first, fields, table, count)


_MOVE_BYTES = 32


@entry
def relocate_entries(entries, count, size, first, fields, moves, move_count):
    """Relocates `fields` consecutive addresses in each of `count` entries; the first one is `first`
    bytes from the beginning of the entry."""
    move = moves
    end = moves + _MOVE_BYTES * move_count
    for i in range(count):
        for field in range(fields):
            place = entries + size * i + first + 8 * field
            address = load64(place)
            if address == 0:
                continue
            if address < load64(move) or address >= load64(move + 8):
                other = moves
                while other < end and (address < load64(other) or address >= load64(other + 8)):
                    other += _MOVE_BYTES
                if other == end:
                    continue
                move = other
            store64(move + 24, 1)
            delta = load64(move + 16)
            if delta:
                store64(place, address + delta)


@entry
def _gather(rows, count, images, capacity):
    """Copy the frames of `count` rows together and point the rows at the copies (1-based).
    Records of one frame share its copy. Returns the bytes used, or -1 for lack of room."""
    used = 0
    last = np.int64(0)
    last_to = np.int64(0)
    for i in range(count):
        row = rows + _ROW_SIZE * i
        first = np.int64(0)
        for field in (_OLD, _NEW, _COUNTERPART, _EXTRA):
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
        for field in (_OLD, _NEW, _COUNTERPART, _EXTRA):
            address = load64(row + field)
            if address:
                store64(row + field, last_to + address - first)
    return used


@entry
def _gather_transactions(entries, count, images, used):
    """Copy the images of `count` transactions into `images` after its first `used` bytes and point
    the transactions at the copies (1-based). Returns the bytes used."""
    for i in range(count):
        entry = entries + _TRANSACTION_SIZE * i
        image = load64(entry + _IMAGE)
        if image:
            size = load64(entry + _IMAGE_SIZE)
            copy(image, size, images + used)
            store64(entry + _IMAGE, used + 1)
            used += size
    return used


def pack_inline(
    rows: np.ndarray, transactions: np.ndarray, orders: np.ndarray | None = None
) -> Inline:
    """Return a slice that contains everything, from rows with real addresses.

    `size` of a row bounds the bytes from its first image to the end of its last one; the image of
    a transaction may be anywhere.
    """
    rows = np.ascontiguousarray(rows).copy()
    needed, rows["transaction"] = np.unique(rows["transaction"], return_inverse=True)
    entries = transactions[needed]
    of_transactions = int(entries["size"].sum())
    images = np.empty(int(rows["size"].sum()) + of_transactions + PADDING * 2, np.uint8)
    used = _gather(address_of(rows), len(rows), address_of(images), len(images) - of_transactions)
    assert used >= 0
    if of_transactions:
        used = _gather_transactions(address_of(entries), len(entries), address_of(images), used)
    return Inline(
        rows.tobytes(),
        entries.tobytes(),
        images[:used].tobytes(),
        None if orders is None else orders.tobytes(),
    )
