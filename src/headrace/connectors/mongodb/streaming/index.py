"""Frames of a change stream (see `frames`) to rows of the index, compiled.

For ranges, each event ends a transaction: a stream can resume after any event. MongoDB's own
transactions matter only if they are counted, and then have records at their beginning and end.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import split_checked
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import load64, store64
from headrace.connect.rows import BEGIN, ENDING, NULL
from headrace.connectors.mongodb.streaming.frames import (
    BEGINS,
    BORDER,
    EXTRA,
    FRAME_HEAD,
    GOES_ON,
    IS_END,
    LOG_BYTES,
    NEW,
    NUMBER,
    OLD,
    OPERATION,
    OWN_FRAME_WORDS,
    RELATION,
    SESSION,
    SESSION_SIZE,
    SIZE,
    TIME,
    TOKEN,
    TOKEN_NUMBER,
    TOKEN_SIZE,
    TRANSACTION_NUMBER,
    WALL_MS,
)
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.key_kernel import CELLS
from headrace.streaming.changes.kernels.row_kernel import (
    BROKEN,
    COMMIT_US,
    ENDINGS,
    ENDS,
    FULL,
    INDEXED,
    KEY,
    LACKS_KEY,
    LAST_COMMIT,
    MORE,
    OPEN,
    ORDINAL,
    POSITION_HIGH,
    POSITION_LOW,
    RELATION_WORDS,
    ROWS,
    TRANSACTION_ID,
    TRANSACTION_IMAGE,
    TRANSACTION_IMAGE_SIZE,
    TRANSACTION_ROW,
    TRANSACTIONS,
    add_change,
    add_row,
    open_transaction,
)
from headrace.streaming.changes.kernels.transaction_kernel import advance

# Words of the reader's state, after those of `frames`.
(
    WALL_TIMES,  # 1: source.ts_ms is wallTime, if the event has one
    DONE_TIME,  # of the last frame
    DONE_NUMBER,
    DONE_TOKEN,  # virtual address of its token
    DONE_TOKEN_SIZE,
    DONE_TOKEN_NUMBER,
    STATE_WORDS,
) = range(OWN_FRAME_WORDS, OWN_FRAME_WORDS + 7)

END = np.dtype(
    [
        ("rows", "<i8"),
        ("time", "<i8"),
        ("number", "<i8"),
        ("token", "<i8"),
        ("token_size", "<i8"),
        ("token_number", "<i8"),
        ("session", "<i8"),
        ("transaction", "<i8"),
    ]
)
"""The end of an event: the number of the segment's rows up to it, its time and number, its resume
token (virtual address and size, and the number of the last event up to that token), and its
transaction: the virtual address of the image with its lsid (0: none) and its txnNumber."""

_END_SIZE = END.itemsize
_MOST_ROWS = 4  # per frame: a transaction's end, a beginning, a delete and its tombstone
_MOST_TRANSACTIONS = 2
_NO_NUMBER = int(NULL)
_INCREMENT = (1 << 32) - 1
# Ordinals of rows at one place, in the order of the log.
_OF_ENDING, _OF_BEGIN, _OF_CHANGE = 0, 1, 2


@part
def _set_transaction(frame, virtual, state):
    """Set the entry of the transaction table that a row refers to: the previous entry, if it is the
    same."""
    time = load64(frame + 8 * TIME)
    wall = load64(frame + 8 * WALL_MS)
    number = load64(frame + 8 * TRANSACTION_NUMBER)
    commit = (time >> 32 & _INCREMENT) * 1_000_000
    if wall != _NO_NUMBER and load64(state + 8 * WALL_TIMES):
        commit = wall * 1000
    if (
        number != _NO_NUMBER
        or load64(state + 8 * TRANSACTION_ID) != _NO_NUMBER
        or load64(state + 8 * COMMIT_US) != commit
        or load64(state + 8 * LAST_COMMIT) != wall
    ):
        store64(state + 8 * TRANSACTION_ROW, -1)
    store64(state + 8 * TRANSACTION_ID, number)
    store64(state + 8 * COMMIT_US, commit)
    store64(state + 8 * LAST_COMMIT, wall)
    session = load64(frame + 8 * SESSION)
    store64(state + 8 * TRANSACTION_IMAGE, virtual + session if session else np.int64(0))
    store64(state + 8 * TRANSACTION_IMAGE_SIZE, load64(frame + 8 * SESSION_SIZE))


@part
def _add_border(rows, transactions, state, ordinal, size, relation, operation):
    open_transaction(transactions, state)
    store64(state + 8 * ORDINAL, ordinal)
    store64(state + 8 * row_kernel.EXTRA, 0)
    place = load64(state + 8 * POSITION_HIGH) & _INCREMENT
    add_row(rows, state, 0, 0, 0, place, 0, 0, size, relation, operation, 0)


@part
def _end_open(rows, transactions, state):
    """Add the end of the open transaction, after its last event."""
    store64(state + 8 * POSITION_HIGH, load64(state + 8 * DONE_TIME))
    store64(state + 8 * POSITION_LOW, load64(state + 8 * DONE_NUMBER))
    _add_border(rows, transactions, state, _OF_ENDING, 0, load64(state + 8 * ENDINGS) - 1, ENDING)
    store64(state + 8 * OPEN, 0)


@part
def _done(frame, virtual, state):
    """Note an indexed frame."""
    store64(state + 8 * DONE_TIME, load64(frame + 8 * TIME))
    store64(state + 8 * DONE_NUMBER, load64(frame + 8 * NUMBER))
    store64(state + 8 * DONE_TOKEN, virtual + load64(frame + 8 * TOKEN))
    store64(state + 8 * DONE_TOKEN_SIZE, load64(frame + 8 * TOKEN_SIZE))
    store64(state + 8 * DONE_TOKEN_NUMBER, load64(frame + 8 * TOKEN_NUMBER))


@part
def _add_end(ends, session, transaction, state):
    """Add a possible end of a range, after the last frame."""
    entry = ends + _END_SIZE * load64(state + 8 * ENDS)
    store64(entry, load64(state + 8 * ROWS))
    store64(entry + 8, load64(state + 8 * DONE_TIME))
    store64(entry + 16, load64(state + 8 * DONE_NUMBER))
    store64(entry + 24, load64(state + 8 * DONE_TOKEN))
    store64(entry + 32, load64(state + 8 * DONE_TOKEN_SIZE))
    store64(entry + 40, load64(state + 8 * DONE_TOKEN_NUMBER))
    store64(entry + 48, session)
    store64(entry + 56, transaction)
    store64(state + 8 * ENDS, load64(state + 8 * ENDS) + 1)


@part
def _mark(frame, virtual, rows, transactions, ends, state):
    time = load64(frame + 8 * TIME)
    number = load64(frame + 8 * NUMBER)
    ends_open = load64(state + 8 * OPEN) and time != load64(state + 8 * DONE_TIME)
    if ends_open:
        _end_open(rows, transactions, state)
    _done(frame, virtual, state)
    if ends_open:
        _add_end(ends, np.int64(0), np.int64(_NO_NUMBER), state)
    if load64(frame + 8 * IS_END):
        advance(state, time + 1, 0)
    else:
        advance(state, time, number)


@part
def _event(frame, virtual, rows, transactions, ends, relations, options, scratch, state):
    """Index an event; returns MORE, KEY (and nothing was added) or BROKEN."""
    size = load64(frame + 8 * SIZE)
    end = frame + size
    old = load64(frame + 8 * OLD)
    new = load64(frame + 8 * NEW)
    if old and split_checked(frame + old, end, 2, scratch) < 0:
        return BROKEN
    if new and split_checked(frame + new, end, 2, scratch + CELLS) < 0:
        return BROKEN
    border = load64(frame + 8 * BORDER)
    if load64(state + 8 * OPEN) and border != GOES_ON:
        _end_open(rows, transactions, state)
    row_count = load64(state + 8 * ROWS)
    transaction_count = load64(state + 8 * TRANSACTIONS)
    was_open = load64(state + 8 * OPEN)
    time = load64(frame + 8 * TIME)
    number = load64(frame + 8 * NUMBER)
    log_bytes = load64(frame + 8 * LOG_BYTES)
    store64(state + 8 * POSITION_HIGH, time)
    store64(state + 8 * POSITION_LOW, number - 1)
    if border != GOES_ON:
        _set_transaction(frame, virtual, state)
    if border == BEGINS:
        begins = load64(state + 8 * row_kernel.BEGINS) - 1
        _add_border(rows, transactions, state, _OF_BEGIN, 0, begins, BEGIN)
        store64(state + 8 * OPEN, 1)
    store64(state + 8 * ORDINAL, _OF_CHANGE)
    extra = load64(frame + 8 * EXTRA)
    store64(state + 8 * row_kernel.EXTRA, virtual + extra if extra else np.int64(0))
    index = load64(frame + 8 * RELATION)
    outcome = add_change(
        rows,
        transactions,
        state,
        load64(frame + 8 * OPERATION),
        index,
        relations + 8 * RELATION_WORDS * index,
        virtual + old if old else np.int64(0),
        virtual + new if new else np.int64(0),
        0,
        scratch,
        scratch + CELLS,
        time & _INCREMENT,
        log_bytes,
        options,
        scratch,
    )
    if outcome == LACKS_KEY:
        store64(state + 8 * ROWS, row_count)
        store64(state + 8 * TRANSACTIONS, transaction_count)
        store64(state + 8 * TRANSACTION_ROW, -1)
        store64(state + 8 * OPEN, was_open)
        return KEY
    _done(frame, virtual, state)
    session = load64(frame + 8 * SESSION)
    _add_end(
        ends,
        virtual + session if session else np.int64(0),
        load64(frame + 8 * TRANSACTION_NUMBER),
        state,
    )
    advance(state, time, number)
    return MORE


@entry
def index_frames(
    base, written, virtual, rows, rows_room, transactions, transactions_room, ends, ends_room,
    relations, options, scratch, state,
):  # fmt: skip
    """Index the frames of a segment at `base`, whose first byte has the virtual address `virtual`,
    from state[INDEXED] to `written`. Returns MORE, FULL, KEY or BROKEN."""
    while True:
        at = load64(state + 8 * INDEXED)
        if at + FRAME_HEAD > written:
            return MORE
        frame = base + at
        if (
            load64(state + 8 * ROWS) + _MOST_ROWS > rows_room
            or load64(state + 8 * TRANSACTIONS) + _MOST_TRANSACTIONS > transactions_room
            or load64(state + 8 * ENDS) + 1 > ends_room
        ):
            return FULL
        if load64(frame + 8 * OPERATION) == 0:
            _mark(frame, virtual + at, rows, transactions, ends, state)
        else:
            status = _event(
                frame, virtual + at, rows, transactions, ends, relations, options, scratch, state
            )
            if status != MORE:
                return status
        store64(state + 8 * INDEXED, at + load64(frame + 8 * SIZE))
