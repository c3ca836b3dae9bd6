"""pgoutput frames to rows of the index, without a connection or a clock.

Formats: PostgreSQL manual, "Logical Replication Message Formats" and "Streaming Replication
Protocol". One compiled pass checks every length of every frame against the frame's end, so later
readers of the images may trust their structure. Rare messages (relations, truncates, logical
messages) are handed to Python one by one.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import split_checked
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import address_of, load8, load32_be, load64_be
from headrace.streaming.changes.kernels import key_kernel, row_kernel
from headrace.streaming.changes.kernels.id_kernel import find_number
from headrace.streaming.changes.kernels.row_kernel import (
    BROKEN,
    COLUMNS,
    COMMIT_US,
    FULL,
    INDEXED,
    KEY,
    MORE,
    OPEN,
    ORDINAL,
    OWN_STATUSES,
    RELATION_WORDS,
    add_change,
    count_change,
    is_skipped,
    open_transaction,
)
from headrace.streaming.changes.kernels.transaction_kernel import (
    advance,
    begin_transaction,
    end_transaction,
    is_full,
)

# Words of `state` with PostgreSQL's names, and additional words.
XID, FINAL_LSN = row_kernel.TRANSACTION_ID, row_kernel.POSITION_LOW
ORIGIN_LSN = row_kernel.ORIGIN_POSITION
ORIGIN_MAP, ORIGIN_MAP_LENGTH = row_kernel.VERSIONS, row_kernel.VERSIONS_LENGTH
WAL_END = row_kernel.HEAD
(
    STATUS,
    REPLY,  # 1: the server requested a status message
    CHECK_FINAL,  # when resuming inside a transaction: the row at this ordinal …
    CHECK_ORDINAL,
    CHECK_LSN,  # … must have this LSN
    CHECKED,  # 0 pending, 1 equal, 2 different
    STATE_WORDS,
) = range(row_kernel.OWN_WORDS, row_kernel.OWN_WORDS + 7)

# Statuses.
RELATION, RARE, SERVER_ERROR, COPY_DONE = range(OWN_STATUSES, OWN_STATUSES + 4)

# First bytes of the protocol's messages, and of the content of CopyData.
_COPY_DATA, _COPY_DONE, _ERROR = ord("d"), ord("c"), ord("E")
_LOG_DATA, _KEEP_ALIVE = ord("w"), ord("k")
# First bytes of pgoutput's messages.
BEGIN, COMMIT, ORIGIN = ord("B"), ord("C"), ord("O")
INSERT, UPDATE, DELETE, TRUNCATE = ord("I"), ord("U"), ord("D"), ord("T")
RELATION_MESSAGE, TYPE, LOGICAL_MESSAGE = ord("R"), ord("Y"), ord("M")
# The byte before an image: the old key, the whole old row, the new row.
_OLD_KEY, _OLD_ROW, _NEW_ROW = ord("K"), ord("O"), ord("N")

# Bytes of a frame before CopyData's content, and of log data before pgoutput's message.
_HEAD, BODY = 5, 30
# Bytes of a frame; changes have at least a relation, a tag and the number of columns.
_KEEP_ALIVE_BYTES, _BEGIN_BYTES, _COMMIT_BYTES, _MIN_CHANGE = 23, BODY + 21, BODY + 26, BODY + 8

US_1970_TO_2000 = 946_684_800_000_000  # PostgreSQL counts from 2000-01-01 UTC


@part
def _keep_alive(frame, length, state):
    """Handle a primary keep-alive; returns MORE or BROKEN."""
    if length < _KEEP_ALIVE_BYTES:
        return BROKEN
    wal_end = load64_be(frame + 6)
    state[WAL_END] = wal_end
    if state[OPEN] == 0:
        advance(state, 0, wal_end)
    if load8(frame + 22):
        state[REPLY] = 1
    return MORE


@part
def _begin(body, length, lsn, rows, transactions, state):
    """Handle a BEGIN; returns MORE or BROKEN."""
    if length != _BEGIN_BYTES or state[OPEN]:
        return BROKEN
    state[FINAL_LSN] = load64_be(body + 1)
    state[COMMIT_US] = load64_be(body + 9) + US_1970_TO_2000
    xid = load32_be(body + 17)
    begin_transaction(rows, transactions, state, xid, 0, 0, lsn, length)
    return MORE


@part
def _commit(body, length, lsn, rows, transactions, ends, state):
    """Handle a COMMIT; returns MORE or BROKEN."""
    if length != _COMMIT_BYTES or state[OPEN] == 0:
        return BROKEN
    end_lsn = load64_be(body + 10)
    end_transaction(rows, transactions, ends, state, 0, end_lsn, lsn, length)
    return MORE


@inlined_part
def _check_resumed(lsn, state):
    """Compare the LSN of the last message that was delivered before a stop inside a transaction."""
    if (
        state[CHECKED] == 0
        and state[ORDINAL] == state[CHECK_ORDINAL]
        and state[FINAL_LSN] == state[CHECK_FINAL]
    ):
        state[CHECKED] = 1 if lsn == state[CHECK_LSN] else 2


@inlined_part
def _change(
    frame,
    length,
    lsn,
    message,
    relation_index,
    relation,
    shift,
    rows,
    transactions,
    options,
    scratch,
    state,
):
    """Handle an INSERT, UPDATE or DELETE of a relation version; returns MORE, BROKEN or KEY."""
    operation = row_kernel.UPDATE
    if message == INSERT:
        operation = row_kernel.CREATE
    elif message == DELETE:
        operation = row_kernel.DELETE
    _check_resumed(lsn, state)
    outcome = row_kernel.LEFT_OUT
    if not is_skipped(relation, operation, options):
        columns = relation[COLUMNS]
        old_cells = scratch
        new_cells = scratch + key_kernel.CELLS
        end = frame + length
        place = frame + BODY + 5
        tag = load8(place)
        old = np.int64(0)
        new = np.int64(0)
        has_old_row = tag == _OLD_ROW
        if has_old_row or tag == _OLD_KEY:
            old = place + 1
            place = split_checked(old, end, columns, old_cells)
            if place < 0:
                return BROKEN
            if message == UPDATE:
                if place >= end:
                    return BROKEN
                tag = load8(place)
        if message != DELETE:
            if tag != _NEW_ROW:
                return BROKEN
            new = place + 1
            place = split_checked(new, end, columns, new_cells)
        elif old == 0:
            return BROKEN
        if place != end:
            return BROKEN
        outcome = add_change(
            rows,
            transactions,
            state,
            operation,
            relation_index,
            relation,
            old + shift if old else np.int64(0),
            new + shift if new else np.int64(0),
            has_old_row,
            old_cells,
            new_cells,
            lsn,
            length,
            options,
            scratch,
        )
        if outcome == row_kernel.LACKS_KEY:
            return KEY
    count_change(state, outcome)
    return MORE


@entry
def index_frames(
    base,
    available,
    virtual,
    rows,
    rows_capacity,
    transactions,
    transactions_capacity,
    ends,
    ends_capacity,
    oids,
    oids_mask,
    relations,
    options,
    scratch,
    state,
):
    """Index complete messages of the segment at `base` from state[INDEXED] up to `available`.

    `virtual` is the virtual address of the segment's first byte; rows hold virtual addresses.
    Returns nothing; state[STATUS] says why it stopped, state[INDEXED] where. KEY: the scratch
    memory (`key_columns.KeyScratch`) lacks texts of keys of the frame at that position.
    """
    position = state[INDEXED]
    status = MORE
    last_oid = np.int64(-1)
    relation_index = np.int64(-1)
    while available - position >= _HEAD:
        frame = base + position
        length = load32_be(frame + 1) + 1
        if length < _HEAD:
            status = BROKEN
            break
        if position + length > available:
            break
        if is_full(state, rows_capacity, transactions_capacity, ends_capacity):
            status = FULL
            break
        kind = load8(frame)
        if kind != _COPY_DATA:
            if kind == _ERROR:
                status = SERVER_ERROR
                break
            if kind == _COPY_DONE:
                status = COPY_DONE
                break
            # CopyBothResponse, notices and parameter changes are skipped.
            position += length
            continue
        content = load8(frame + _HEAD)
        if length > _HEAD and content == _KEEP_ALIVE:
            status = _keep_alive(frame, length, state)
            if status != MORE:
                break
            position += length
            continue
        if content != _LOG_DATA or length <= BODY:
            status = BROKEN
            break
        lsn = load64_be(frame + 6)
        body = frame + BODY
        message = load8(body)
        if message == INSERT or message == UPDATE or message == DELETE:  # noqa: SIM109
            if length < _MIN_CHANGE or state[OPEN] == 0:
                status = BROKEN
                break
            oid = load32_be(body + 1)
            if oid != last_oid:
                relation_index = find_number(oids, oids_mask, oid)
                last_oid = oid
                if relation_index < 0:
                    status = BROKEN
                    break
            relation = relations + 8 * RELATION_WORDS * relation_index
            status = _change(
                frame, length, lsn, message, relation_index, relation, virtual - base, rows,
                transactions, options, scratch, state,
            )  # fmt: skip
        elif message == BEGIN:
            status = _begin(body, length, lsn, rows, transactions, state)
        elif message == COMMIT:
            status = _commit(body, length, lsn, rows, transactions, ends, state)
        elif message == RELATION_MESSAGE:
            status = RELATION
        elif message in (TRUNCATE, LOGICAL_MESSAGE, ORIGIN):
            status = RARE
        elif message != TYPE:
            status = BROKEN
        if status != MORE:
            break
        if lsn > state[WAL_END]:
            state[WAL_END] = lsn
        position += length
    state[INDEXED] = position
    state[STATUS] = status


def load_kernel() -> None:
    """Compile (seconds, the first time on a machine) or load the pass before a stream is open:
    compiling holds the GIL, and the server must be answered."""
    state = np.zeros(STATE_WORDS, np.int64)
    memory = np.zeros(key_kernel.SCRATCH, np.uint8)
    at = address_of(memory)
    index_frames(at, 0, 0, at, 0, at, 0, at, 0, at, 0, at, 0, at, address_of(state))
    # The transaction has an entry already (TRANSACTION_ROW is 0, not -1), so nothing is written.
    open_transaction(at, address_of(state))
