"""Transactions that begin with their first record, for the kernels that read logs in which most
transactions may have no records: these have neither BEGIN nor END.

The words of `state` are those of row_kernel.py, followed by BEGINNING.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import load32_be
from headrace.connect.rows import NULL
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import (
    BEGIN_BYTES,
    FRAME_HEAD_BYTES,
    begin_at,
)
from headrace.streaming.changes.kernels.transaction_kernel import (
    add_begin,
    begin_transaction,
    end_transaction,
)

BEGINNING = row_kernel.OWN_WORDS
"""Bytes of the open transaction's beginning while it has no records yet (0: it has records, or no
transaction is open)."""
OWN_WORDS = BEGINNING + 1

_NULL = int(NULL)


@part
def begin_late(frame, virtual, rows, transactions, state):
    """Begin the transaction of a frame (of BEGIN_BYTES and an image) without a number, like
    `begin_transaction`, without its BEGIN, which is added before its first record
    (`add_late_begin`). Returns MORE or BROKEN."""
    size = load32_be(frame)
    if size < BEGIN_BYTES:
        return row_kernel.BROKEN
    begin_at(frame + FRAME_HEAD_BYTES, state)
    begins = state[row_kernel.BEGINS]
    state[row_kernel.BEGINS] = 0
    image = frame + virtual + BEGIN_BYTES
    begin_transaction(rows, transactions, state, _NULL, image, size - BEGIN_BYTES, 0, 0)
    state[row_kernel.BEGINS] = begins
    state[BEGINNING] = size
    return row_kernel.MORE


@entry
def add_late_begin(rows, transactions, state):
    """Add the BEGIN of the open transaction, if it has no record yet."""
    size = state[BEGINNING]
    if size and state[row_kernel.BEGINS]:
        ordinal = state[row_kernel.ORDINAL]
        state[row_kernel.ORDINAL] = 0
        place = state[row_kernel.POSITION_LOW]
        add_begin(rows, transactions, state, place, size)
        state[row_kernel.ORDINAL] = ordinal


@entry
def take_back_beginning(state, first):
    """Remove the BEGIN if no record follows it: the segment had `first` rows before."""
    if state[BEGINNING] == 0:
        return
    borders = 1 if state[row_kernel.BEGINS] else 0
    if state[row_kernel.ROWS] > first + borders:
        state[BEGINNING] = 0
    else:
        state[row_kernel.ROWS] = first
        state[row_kernel.TRANSACTION_HAS_ROWS] = 0


@part
def end_late(rows, transactions, ends, state, size):
    """End a transaction like `end_transaction`, one place after its own; END is added only if the
    transaction has its BEGIN. `size`: bytes of log."""
    high = state[row_kernel.POSITION_HIGH]
    low = state[row_kernel.POSITION_LOW]
    end_low = low + 1
    endings = state[row_kernel.ENDINGS]
    if state[BEGINNING]:
        state[row_kernel.ENDINGS] = 0
    end_transaction(
        rows, transactions, ends, state, high if end_low else high + 1, end_low, low, size
    )
    state[row_kernel.ENDINGS] = endings
    state[BEGINNING] = 0
