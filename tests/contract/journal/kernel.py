"""The journal's frames to rows of the index, compiled."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.images import split_checked
from headrace.connect.kernels.memory import kernel, load8, load32_be, load64, load64_be, store64
from headrace.connect.rows import NULL
from headrace.streaming.changes.key_kernel import CELLS
from headrace.streaming.changes.row_kernel import (
    ADDED,
    CAPTURED,
    COMMIT_US,
    CREATE,
    DELETE,
    FILTERED,
    ORDINAL,
    OWN_WORDS,
    POSITION_HIGH,
    POSITION_LOW,
    RELATION_WORDS,
    ROWS,
    TRANSACTION_HAS_ROWS,
    TRANSACTION_ID,
    TRANSACTION_IMAGE,
    TRANSACTION_IMAGE_SIZE,
    TRANSACTION_ROW,
    UPDATE,
    add_change,
)

# Words of `state` behind those that all logs have.
AT = OWN_WORDS  # bytes of the segment that are indexed
FILE = OWN_WORDS + 1  # offset of the segment's first byte in the file
OPEN = OWN_WORDS + 2  # 1 inside of a transaction
ENDS = OWN_WORDS + 3
COMPLETE = OWN_WORDS + 4  # offset in the file behind the last C
STATE_WORDS = OWN_WORDS + 5
MORE, FULL, BROKEN = range(3)

_HEAD, _BEGIN = 6, 30
_B, _C, _I, _U, _D = ord("B"), ord("C"), ord("I"), ord("U"), ord("D")
_NULL = int(NULL)


@kernel
def index_frames(
    data, written, start, rows, room, transactions, ends, relations, options, scratch, state
):
    """Index the whole frames of a segment at `data`, whose first byte has the virtual address
    `start`; an end is two int64, rows and offset. Returns MORE, FULL (`room` entries) or
    BROKEN."""
    while True:
        at = load64(state + 8 * AT)
        if at + _HEAD > written or at + load32_be(data + at) > written:
            return MORE
        if max(load64(state + 8 * ROWS), load64(state + 8 * ENDS)) + 3 > room:
            return FULL
        size = load32_be(data + at)
        kind = load8(data + at + 4)
        offset = load64(state + 8 * FILE) + at
        if kind == _B:
            store64(state + 8 * POSITION_HIGH, load64_be(data + at + _HEAD))
            store64(state + 8 * POSITION_LOW, load64_be(data + at + _HEAD + 8))
            store64(state + 8 * COMMIT_US, load64_be(data + at + _HEAD + 16))
            store64(state + 8 * TRANSACTION_ID, _NULL)
            store64(state + 8 * TRANSACTION_IMAGE, start + at + _BEGIN)
            store64(state + 8 * TRANSACTION_IMAGE_SIZE, size - _BEGIN)
            store64(state + 8 * TRANSACTION_ROW, -1)
            store64(state + 8 * TRANSACTION_HAS_ROWS, 0)
            store64(state + 8 * ORDINAL, 1)
            store64(state + 8 * OPEN, 1)
        elif kind == _C:
            end = ends + 16 * load64(state + 8 * ENDS)
            store64(end, load64(state + 8 * ROWS))
            store64(end + 8, offset + size)
            store64(state + 8 * COMPLETE, offset + size)
            store64(state + 8 * ENDS, load64(state + 8 * ENDS) + 1)
            store64(state + 8 * OPEN, 0)
        else:
            index = load8(data + at + 5)
            relation = relations + 8 * RELATION_WORDS * index
            stop = data + at + size
            before = data + at + _HEAD
            after = before if kind == _I else split_checked(before, stop, 2, scratch)
            if after > 0 and kind != _D:
                stop = split_checked(after, stop, 2, scratch + CELLS)
            if after < 0 or stop < 0:
                return BROKEN
            old = start + before - data if kind != _I else 0
            new = start + after - data if kind != _D else 0
            operation = CREATE if kind == _I else UPDATE if kind == _U else DELETE
            added = False
            if load64(relation + 8 * CAPTURED):
                added = add_change(
                    rows, transactions, state, operation, index, relation, old, new, 1,
                    scratch, scratch + CELLS, offset, size, options, scratch,
                ) == ADDED  # fmt: skip
            if not added:
                store64(state + 8 * FILTERED, load64(state + 8 * FILTERED) + 1)
            store64(state + 8 * ORDINAL, load64(state + 8 * ORDINAL) + 1)
        store64(state + 8 * AT, at + size)
