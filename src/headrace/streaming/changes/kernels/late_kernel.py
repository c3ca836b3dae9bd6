"""Transactions that begin with their first record, for the kernels that read logs in which most
transactions may have no records: these have neither BEGIN nor END.

The words of `state` are those of row_kernel.py, followed by BEGINNING.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import load64, store64
from headrace.connect.rows import NULL
from headrace.streaming.changes.kernels import row_kernel
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
def begin_late(rows, transactions, state, image, image_size, size):
    """Begin a transaction without a number, like `begin_transaction`, without its BEGIN, which is
    added before its first record (`add_late_begin`). Its beginning has `size` bytes of log."""
    begins = load64(state + 8 * row_kernel.BEGINS)
    store64(state + 8 * row_kernel.BEGINS, 0)
    begin_transaction(rows, transactions, state, _NULL, image, image_size, 0, 0)
    store64(state + 8 * row_kernel.BEGINS, begins)
    store64(state + 8 * BEGINNING, size)


@entry
def add_late_begin(rows, transactions, state):
    """Add the BEGIN of the open transaction, if it has no record yet."""
    size = load64(state + 8 * BEGINNING)
    if size and load64(state + 8 * row_kernel.BEGINS):
        ordinal = load64(state + 8 * row_kernel.ORDINAL)
        store64(state + 8 * row_kernel.ORDINAL, 0)
        place = load64(state + 8 * row_kernel.POSITION_LOW)
        add_begin(rows, transactions, state, place, size)
        store64(state + 8 * row_kernel.ORDINAL, ordinal)


@entry
def take_back_beginning(state, first):
    """Remove the BEGIN if no record follows it: the segment had `first` rows before."""
    if load64(state + 8 * BEGINNING) == 0:
        return
    borders = 1 if load64(state + 8 * row_kernel.BEGINS) else 0
    if load64(state + 8 * row_kernel.ROWS) > first + borders:
        store64(state + 8 * BEGINNING, 0)
    else:
        store64(state + 8 * row_kernel.ROWS, first)
        store64(state + 8 * row_kernel.TRANSACTION_HAS_ROWS, 0)


@part
def end_late(rows, transactions, ends, state, size):
    """End a transaction like `end_transaction`, one place after its own; END is added only if the
    transaction has its BEGIN. `size`: bytes of log."""
    high = load64(state + 8 * row_kernel.POSITION_HIGH)
    low = load64(state + 8 * row_kernel.POSITION_LOW)
    end_low = low + 1
    endings = load64(state + 8 * row_kernel.ENDINGS)
    if load64(state + 8 * BEGINNING):
        store64(state + 8 * row_kernel.ENDINGS, 0)
    end_transaction(
        rows, transactions, ends, state, high if end_low else high + 1, end_low, low, size
    )
    store64(state + 8 * row_kernel.ENDINGS, endings)
    store64(state + 8 * BEGINNING, 0)
