"""Beginnings and ends of transactions, for the kernels that read a log; the words of `state` are
those of row_kernel.py.

In a log without transactions every event is a transaction of its own.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import store64
from headrace.connect.rows import BEGIN, ENDING
from headrace.streaming.changes.kernels.row_kernel import (
    BEGINS,
    COMMIT_US,
    COMPLETE,
    COMPLETE_HIGH,
    END,
    ENDINGS,
    ENDS,
    LAST_COMMIT,
    OPEN,
    ORDINAL,
    ORIGIN_POSITION,
    ROWS,
    TRANSACTION_HAS_ROWS,
    TRANSACTION_ID,
    TRANSACTION_IMAGE,
    TRANSACTION_IMAGE_SIZE,
    TRANSACTION_ROW,
    TRANSACTIONS,
    VERSIONS,
    add_row,
    open_transaction,
)

_END_SIZE = END.itemsize
_MESSAGE_ROWS = 3
"""The most rows for one message of a log."""


@inlined_part
def is_full(state, rows_room, transactions_room, ends_room):
    """Return whether the tables of the index, which have room for so many entries, may be too small
    for the rows of the next message."""
    return (
        state[ROWS] + _MESSAGE_ROWS > rows_room
        or state[TRANSACTIONS] + 1 > transactions_room
        or state[ENDS] + 1 > ends_room
    )


@part
def _add_border(rows, transactions, state, place, size, relation, operation):
    open_transaction(transactions, state)
    state[TRANSACTION_HAS_ROWS] = 1
    add_row(rows, state, 0, 0, 0, place, 0, 0, size, relation, operation, 0)


@inlined_part
def add_begin(rows, transactions, state, place, size):
    """Add the BEGIN of the open transaction before its other rows, if transactions have borders.
    The transaction's next message is its first one."""
    borders = state[BEGINS]
    if borders:
        _add_border(rows, transactions, state, place, size, borders - 1, BEGIN)
    state[ORDINAL] = 1


@part
def begin_transaction(rows, transactions, state, identity, image, image_size, place, size):
    """Begin a transaction at the place in the words POSITION_HIGH and POSITION_LOW, and at the time
    COMMIT_US, which the caller has set; `identity` is its number (NULL: it has none), the image
    (virtual address and bytes) has the log's texts about it (0, 0: none). Adds its BEGIN, which is
    at `place` of the log and has `size` bytes, if transactions have borders."""
    state[OPEN] = 1
    state[TRANSACTION_ID] = identity
    state[TRANSACTION_IMAGE] = image
    state[TRANSACTION_IMAGE_SIZE] = image_size
    state[TRANSACTION_ROW] = -1
    state[TRANSACTION_HAS_ROWS] = 0
    state[ORIGIN_POSITION] = 0
    state[VERSIONS] = 0
    state[ORDINAL] = 0
    add_begin(rows, transactions, state, place, size)


@part
def end_transaction(rows, transactions, ends, state, high, low, place, size):
    """End the open transaction at the place `high` and `low` of the log: add an entry of `ends`, if
    it has rows, and its END, as in `begin_transaction`."""
    borders = state[ENDINGS]
    if borders:
        _add_border(rows, transactions, state, place, size, borders - 1, ENDING)
    state[LAST_COMMIT] = low
    if state[TRANSACTION_HAS_ROWS]:
        add_end(ends, state, high, low)
    state[OPEN] = 0
    advance(state, high, low)


@entry
def add_end(ends, state, high, low):
    """Add an end of a range after all rows, at the place `high` and `low`."""
    entry = ends + _END_SIZE * state[ENDS]
    store64(entry, state[ROWS])
    store64(entry + 8, high)
    store64(entry + 16, low)
    store64(entry + 24, state[LAST_COMMIT])
    store64(entry + 32, state[COMMIT_US])
    state[ENDS] += 1


@inlined_part
def advance(state, high, low):
    """Note that the log was received up to this place."""
    complete_high = state[COMPLETE_HIGH]
    if np.uint64(high) > np.uint64(complete_high) or (
        high == complete_high and np.uint64(low) > np.uint64(state[COMPLETE])
    ):
        state[COMPLETE_HIGH] = high
        state[COMPLETE] = low
