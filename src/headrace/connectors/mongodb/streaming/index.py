"""Frames of a change stream (see `frames`) to rows of the index, compiled.

For ranges, each event ends a transaction: a stream can resume after any event. MongoDB's own
transactions matter only if they are counted, and then have records at their beginning and end.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import split_checked
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import load32_be, store64
from headrace.connect.rows import BEGIN, ENDING, NULL
from headrace.connectors.mongodb.streaming.frames import (
    BEGINS,
    BORDER,
    EXTRA,
    GOES_ON,
    IS_END,
    LOG_BYTES,
    MARK,
    NEW,
    NUMBER,
    OLD,
    OWN_FRAME_WORDS,
    RELATION,
    SESSION,
    SESSION_SIZE,
    TIME,
    TOKEN,
    TOKEN_NUMBER,
    TOKEN_SIZE,
    TRANSACTION_NUMBER,
    WALL_MS,
)
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import frame_kind
from headrace.streaming.changes.kernels.key_kernel import CELLS
from headrace.streaming.changes.kernels.row_kernel import (
    BROKEN,
    COMMIT_US,
    ENDINGS,
    ENDS,
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
_NO_NUMBER = int(NULL)
_INCREMENT = (1 << 32) - 1
# Ordinals of rows at one place, in the order of the log.
_OF_ENDING, _OF_BEGIN, _OF_CHANGE = 0, 1, 2


@part
def _set_transaction(frame, virtual, state):
    """Set the entry of the transaction table that a row refers to: the previous entry, if it is the
    same."""
    time = frame[TIME]
    wall = frame[WALL_MS]
    number = frame[TRANSACTION_NUMBER]
    commit = (time >> 32 & _INCREMENT) * 1_000_000
    if wall != _NO_NUMBER and state[WALL_TIMES]:
        commit = wall * 1000
    if (
        number != _NO_NUMBER
        or state[TRANSACTION_ID] != _NO_NUMBER
        or state[COMMIT_US] != commit
        or state[LAST_COMMIT] != wall
    ):
        state[TRANSACTION_ROW] = -1
    state[TRANSACTION_ID] = number
    state[COMMIT_US] = commit
    state[LAST_COMMIT] = wall
    session = frame[SESSION]
    state[TRANSACTION_IMAGE] = virtual + session if session else np.int64(0)
    state[TRANSACTION_IMAGE_SIZE] = frame[SESSION_SIZE]


@part
def _add_border(rows, transactions, state, ordinal, size, relation, operation):
    open_transaction(transactions, state)
    state[ORDINAL] = ordinal
    state[row_kernel.EXTRA] = 0
    place = state[POSITION_HIGH] & _INCREMENT
    add_row(rows, state, 0, 0, 0, place, 0, 0, size, relation, operation, 0)


@part
def _end_open(rows, transactions, state):
    """Add the end of the open transaction, after its last event."""
    state[POSITION_HIGH] = state[DONE_TIME]
    state[POSITION_LOW] = state[DONE_NUMBER]
    _add_border(rows, transactions, state, _OF_ENDING, 0, state[ENDINGS] - 1, ENDING)
    state[OPEN] = 0


@part
def _done(frame, virtual, state):
    """Note an indexed frame."""
    state[DONE_TIME] = frame[TIME]
    state[DONE_NUMBER] = frame[NUMBER]
    state[DONE_TOKEN] = virtual + frame[TOKEN]
    state[DONE_TOKEN_SIZE] = frame[TOKEN_SIZE]
    state[DONE_TOKEN_NUMBER] = frame[TOKEN_NUMBER]


@part
def _add_end(ends, session, transaction, state):
    """Add a possible end of a range, after the last frame."""
    entry = ends + _END_SIZE * state[ENDS]
    store64(entry, state[ROWS])
    store64(entry + 8, state[DONE_TIME])
    store64(entry + 16, state[DONE_NUMBER])
    store64(entry + 24, state[DONE_TOKEN])
    store64(entry + 32, state[DONE_TOKEN_SIZE])
    store64(entry + 40, state[DONE_TOKEN_NUMBER])
    store64(entry + 48, session)
    store64(entry + 56, transaction)
    state[ENDS] += 1


@part
def _mark(frame, virtual, rows, transactions, ends, state):
    time = frame[TIME]
    number = frame[NUMBER]
    ends_open = state[OPEN] and time != state[DONE_TIME]
    if ends_open:
        _end_open(rows, transactions, state)
    _done(frame, virtual, state)
    if ends_open:
        _add_end(ends, np.int64(0), np.int64(_NO_NUMBER), state)
    if frame[IS_END]:
        advance(state, time + 1, 0)
    else:
        advance(state, time, number)


@part
def _event(frame, virtual, rows, transactions, ends, relations, options, scratch, state):
    """Index an event; returns MORE, KEY (and nothing was added) or BROKEN."""
    end = frame + load32_be(frame)
    old = frame[OLD]
    new = frame[NEW]
    if old and split_checked(frame + old, end, 2, scratch) < 0:
        return BROKEN
    if new and split_checked(frame + new, end, 2, scratch + CELLS) < 0:
        return BROKEN
    border = frame[BORDER]
    if state[OPEN] and border != GOES_ON:
        _end_open(rows, transactions, state)
    row_count = state[ROWS]
    transaction_count = state[TRANSACTIONS]
    was_open = state[OPEN]
    time = frame[TIME]
    number = frame[NUMBER]
    log_bytes = frame[LOG_BYTES]
    state[POSITION_HIGH] = time
    state[POSITION_LOW] = number - 1
    if border != GOES_ON:
        _set_transaction(frame, virtual, state)
    if border == BEGINS:
        begins = state[row_kernel.BEGINS] - 1
        _add_border(rows, transactions, state, _OF_BEGIN, 0, begins, BEGIN)
        state[OPEN] = 1
    state[ORDINAL] = _OF_CHANGE
    extra = frame[EXTRA]
    state[row_kernel.EXTRA] = virtual + extra if extra else np.int64(0)
    index = frame[RELATION]
    outcome = add_change(
        rows,
        transactions,
        state,
        frame_kind(frame),
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
        state[ROWS] = row_count
        state[TRANSACTIONS] = transaction_count
        state[TRANSACTION_ROW] = -1
        state[OPEN] = was_open
        return KEY
    _done(frame, virtual, state)
    session = frame[SESSION]
    _add_end(
        ends,
        virtual + session if session else np.int64(0),
        frame[TRANSACTION_NUMBER],
        state,
    )
    advance(state, time, number)
    return MORE


@entry
def index_frame(frame, virtual, rows, transactions, ends, relations, options, scratch, state):
    """See FrameReader.frame_kernel. Returns MORE, KEY or BROKEN."""
    if frame_kind(frame) == MARK:
        _mark(frame, frame + virtual, rows, transactions, ends, state)
        return MORE
    return _event(
        frame, frame + virtual, rows, transactions, ends, relations, options, scratch, state
    )
