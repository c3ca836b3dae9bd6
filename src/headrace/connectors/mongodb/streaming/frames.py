"""Converts events of a change stream to frames, from which rows are made.

A frame begins with FRAME_WORDS int64, named below; then come a resume token, a document, and the
event's images. It is in a segment; offsets of its parts are from its beginning (0: the event has no
such part). Its kind is the operation of its row, or MARK: everything up to its time and number was
received.

If transactions are counted, the frames of a transaction have the resume token before it: after a
restart inside of a transaction it is read from its beginning.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import (
    CELL_HEAD_BYTES,
    HEAD_BYTES,
    put_head,
)
from headrace.connect.kernels.equality import same_bytes
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import copy, load8, load32, load64, store64
from headrace.connect.kernels.text import hash_bytes
from headrace.connect.rows import NULL
from headrace.connectors.mongodb.streaming import event_parts
from headrace.connectors.mongodb.streaming.event_parts import (
    cell_size,
    defines,
    filter_parts,
    find_key,
    find_parts,
    is_of,
    operation_of,
    place_of,
    put_cell,
    put_key,
)
from headrace.documents.bson import DATE, DOCUMENT, INT64, TIMESTAMP
from headrace.documents.kernels.value_sizes import name_end, value_size
from headrace.streaming.changes.kernels.frame_kernel import put_frame_head
from headrace.streaming.changes.kernels.row_kernel import (
    DELETE,
    FILTERED,
    OWN_WORDS,
    RELATION_WORDS,
    is_skipped,
)

(
    HEAD,  # size and kind, see frame_kernel
    RELATION,  # index of the relation version
    TIME,  # clusterTime: seconds << 32 | increment
    NUMBER,  # of the event among those of its time
    WALL_MS,  # wallTime, milliseconds since 1970; NULL: the server sent none
    TRANSACTION_NUMBER,  # txnNumber; NULL: none
    TOKEN,  # the resume token of a reopened stream
    TOKEN_SIZE,
    TOKEN_NUMBER,  # NUMBER of the last event up to that token
    OLD,  # the image before the change
    NEW,  # the image after it
    EXTRA,  # the image of an update's changes
    SESSION,  # the image of the transaction: its lsid
    SESSION_SIZE,
    LOG_BYTES,  # of the event
    BORDER,  # if transactions are counted: OUTSIDE, BEGINS or GOES_ON
    IS_END,  # of a mark: the server had no further events at this time
) = range(17)
FRAME_WORDS = 17
FRAME_BYTES = 8 * FRAME_WORDS
OUTSIDE, BEGINS, GOES_ON = range(3)
MARK = 0

# Words of the reader's state for this kernel, before those of the next kernel.
(
    STATUS,
    AT,  # address of the next event's element in the batch
    EVENT_TIME,  # of the last event
    EVENT_NUMBER,
    NEEDED,  # bytes of the next frame, if there is no room for it
    IN_FRAGMENTS,  # 1: the previous event was a fragment, but not the last one
    COUNTED,  # 1: transactions are counted
    LAST_TOKEN,  # address of the last event's token, also of one before this batch
    LAST_TOKEN_SIZE,
    LAST_TOKEN_NUMBER,
    RESUME_TOKEN,  # the token of the event before the open transaction
    RESUME_TOKEN_SIZE,
    RESUME_TOKEN_NUMBER,
    OPEN_TIME,  # of the open transaction; 0: none is open
    OPEN_NUMBER,  # its txnNumber
    OPEN_SESSION,  # address of its lsid, a document
    OPEN_SESSION_SIZE,
    DEFINITIONS,  # IGNORED, or the next handler of an event of a collection itself
    OWN_FRAME_WORDS,
) = range(OWN_WORDS, OWN_WORDS + 19)
IGNORED, PYTHON, KERNEL = range(3)

# Reasons why the kernel stopped. Faults of documents.bson are below 0.
WRITTEN, NO_ROOM, NAMESPACE, FRAGMENT, NO_TOKEN, NO_TIME, NO_KEY, DEFINITION = range(8)
FAULTS = {
    NO_TOKEN: "it has no _id, the resume token",
    NO_TIME: "it has no clusterTime",
    NO_KEY: "it has no documentKey._id",
}

# The field rules for the documents of a relation version: the address of its FieldRules, their
# number, and the bytes of their longest new name.
FIELD_WORDS = 3
_FIELDS_SIZE = 8 * FIELD_WORDS

# A namespace: the hash, address and size of its document, and its relation version.
NAMESPACE_WORDS = 4
_NAMESPACE_SIZE = 8 * NAMESPACE_WORDS

_NO_NUMBER = int(NULL)


@part
def _relation(namespaces, mask, ns, size):
    """The relation version of a namespace's document, or -1."""
    value = hash_bytes(0, ns, size)
    entry = value & mask
    while True:
        at = namespaces + _NAMESPACE_SIZE * entry
        known = load64(at + 8)
        if known == 0:
            return np.int64(-1)
        if load64(at) == value and same_bytes(known, load64(at + 16), ns, size):
            return load64(at + 24)
        entry = (entry + 1) & mask


@part
def _count(state, time):
    """Count an event among those of its time, the first being 1."""
    if state[EVENT_TIME] != time:
        state[EVENT_TIME] = time
        state[EVENT_NUMBER] = 0
    state[EVENT_NUMBER] += 1


@part
def _in_transaction(parts):
    return is_of(parts, event_parts.LSID, DOCUMENT) and is_of(parts, event_parts.TXN_NUMBER, INT64)


@part
def _border(parts, time, state):
    """The event's place in its transaction; notes the transaction that is open after it."""
    if not _in_transaction(parts):
        state[OPEN_TIME] = 0
        return np.int64(OUTSIDE)
    number = load64(place_of(parts, event_parts.TXN_NUMBER))
    session = place_of(parts, event_parts.LSID)
    size = load32(session)
    if (
        state[OPEN_TIME] == time
        and state[OPEN_NUMBER] == number
        and same_bytes(state[OPEN_SESSION], state[OPEN_SESSION_SIZE], session, size)
    ):
        return np.int64(GOES_ON)
    state[OPEN_TIME] = time
    state[OPEN_NUMBER] = number
    state[OPEN_SESSION] = session
    state[OPEN_SESSION_SIZE] = size
    for i in range(3):
        state[RESUME_TOKEN + i] = state[LAST_TOKEN + i]
    return np.int64(BEGINS)


@part
def _frame_size(parts, operation, state):
    """The largest possible size of an event's frame, in bytes."""
    size = FRAME_BYTES + load32(place_of(parts, event_parts.ID))
    if _in_transaction(parts):
        size += HEAD_BYTES + cell_size(parts, event_parts.LSID)
        size += state[LAST_TOKEN_SIZE] + state[RESUME_TOKEN_SIZE]
    key = CELL_HEAD_BYTES + cell_size(parts, event_parts.KEY)
    if operation == DELETE or place_of(parts, event_parts.BEFORE):
        size += HEAD_BYTES + key + cell_size(parts, event_parts.BEFORE)
    if operation != DELETE:
        size += HEAD_BYTES + key + cell_size(parts, event_parts.FULL_DOCUMENT)
    if is_of(parts, event_parts.UPDATE, DOCUMENT):
        size += HEAD_BYTES + cell_size(parts, event_parts.UPDATED)
        size += cell_size(parts, event_parts.REMOVED) + cell_size(parts, event_parts.TRUNCATED)
    return size


@part
def _put_token(parts, border, frame, state):
    """Write the token of a frame, and its size and number; returns its end."""
    token = place_of(parts, event_parts.ID)
    size = load32(token)
    number = state[EVENT_NUMBER]
    if border != OUTSIDE:
        token = state[RESUME_TOKEN]
        size = state[RESUME_TOKEN_SIZE]
        number = state[RESUME_TOKEN_NUMBER]
    frame[TOKEN] = FRAME_BYTES
    frame[TOKEN_SIZE] = size
    frame[TOKEN_NUMBER] = number
    return copy(token, size, frame + FRAME_BYTES)


@part
def _put_frame(parts, operation, relation, time, log_bytes, frame, state):
    """Write the frame of an event; returns its end."""
    border = np.int64(OUTSIDE)
    if state[COUNTED]:
        border = _border(parts, time, state)
    out = _put_token(parts, border, frame, state)
    wall = np.int64(_NO_NUMBER)
    if is_of(parts, event_parts.WALL_TIME, DATE):
        wall = load64(place_of(parts, event_parts.WALL_TIME))
    transaction = np.int64(_NO_NUMBER)
    session = np.int64(0)
    session_size = np.int64(0)
    if _in_transaction(parts):
        transaction = load64(place_of(parts, event_parts.TXN_NUMBER))
        session = out - frame
        out = put_cell(parts, event_parts.LSID, put_head(out, 1))
        session_size = out - frame - session
    old = np.int64(0)
    new = np.int64(0)
    extra = np.int64(0)
    if operation == DELETE or place_of(parts, event_parts.BEFORE):
        old = out - frame
        out = put_cell(parts, event_parts.BEFORE, put_key(parts, put_head(out, 2)))
    if operation != DELETE:
        new = out - frame
        out = put_cell(parts, event_parts.FULL_DOCUMENT, put_key(parts, put_head(out, 2)))
    if is_of(parts, event_parts.UPDATE, DOCUMENT):
        extra = out - frame
        out = put_cell(parts, event_parts.UPDATED, put_head(out, 3))
        out = put_cell(parts, event_parts.TRUNCATED, put_cell(parts, event_parts.REMOVED, out))
    put_frame_head(frame, out, operation)
    frame[RELATION] = relation
    frame[TIME] = time
    frame[NUMBER] = state[EVENT_NUMBER]
    frame[WALL_MS] = wall
    frame[TRANSACTION_NUMBER] = transaction
    frame[OLD] = old
    frame[NEW] = new
    frame[EXTRA] = extra
    frame[SESSION] = session
    frame[SESSION_SIZE] = session_size
    frame[LOG_BYTES] = log_bytes
    frame[BORDER] = border
    frame[IS_END] = 0
    return out


@part
def _read_event(document, size, parts, state):
    """Note the parts of an event; returns WRITTEN, or why it cannot be read."""
    for i in range(0, event_parts.PARTS_BYTES, 8):
        store64(parts + i, 0)
    fault = find_parts(event_parts.EVENT_TABLE, document, size, parts)
    if fault < 0:
        return fault
    if not is_of(parts, event_parts.ID, DOCUMENT):
        return np.int64(NO_TOKEN)
    if place_of(parts, event_parts.SPLIT) or state[IN_FRAGMENTS]:
        return np.int64(FRAGMENT)
    if not is_of(parts, event_parts.CLUSTER_TIME, TIMESTAMP):
        return np.int64(NO_TIME)
    if is_of(parts, event_parts.DOCUMENT_KEY, DOCUMENT):
        key = place_of(parts, event_parts.DOCUMENT_KEY)
        fault = find_key(key, load32(key), parts)
        if fault < 0:
            return fault
    if is_of(parts, event_parts.UPDATE, DOCUMENT):
        update = place_of(parts, event_parts.UPDATE)
        fault = find_parts(event_parts.UPDATE_TABLE, update, load32(update), parts)
        if fault < 0:
            return fault
    return np.int64(WRITTEN)


@part
def _passed(parts, state):
    """Note the token of a handled event, for the next event."""
    state[LAST_TOKEN] = place_of(parts, event_parts.ID)
    state[LAST_TOKEN_SIZE] = load32(place_of(parts, event_parts.ID))
    state[LAST_TOKEN_NUMBER] = state[EVENT_NUMBER]


@entry
def write_frames(
    last, target, room, namespaces, mask, relations, fields, options, parts, scratch, scratch_size,
    state,
):  # fmt: skip
    """Write the frames of the events from state[AT] to `last`, the zero byte of their batch, to
    `target`, which has `room` bytes, and PADDING after them.

    `namespaces`, `mask`, `relations` and `fields` are the tables of `KnownCollections`, `options`
    those of row_kernel.add_change; `parts` (see `event_parts`) and `scratch` are memory to work in.
    Returns the bytes written; state[STATUS] says why it stopped before the event at state[AT].
    """
    written = np.int64(0)
    status = np.int64(WRITTEN)
    at = state[AT]
    while at < last:
        if load8(at) != DOCUMENT:
            status = np.int64(NO_TOKEN)
            break
        event = name_end(at + 1, last) + 1
        size = value_size(DOCUMENT, event, last - event)
        if size < 0:
            status = size
            break
        status = _read_event(event, size, parts, state)
        if status != WRITTEN:
            break
        time = load64(place_of(parts, event_parts.CLUSTER_TIME))
        operation = operation_of(parts)
        if state[DEFINITIONS] == PYTHON and defines(parts):
            status = np.int64(DEFINITION)
            break
        relation = np.int64(-1)
        if operation and is_of(parts, event_parts.NS, DOCUMENT):
            ns = place_of(parts, event_parts.NS)
            relation = _relation(namespaces, mask, ns, load32(ns))
            if relation < 0:
                status = np.int64(NAMESPACE)
                break
        if relation >= 0 and not is_skipped(
            relations + 8 * RELATION_WORDS * relation, operation, options
        ):
            if place_of(parts, event_parts.KEY) == 0:
                status = np.int64(NO_KEY)
                break
            rules = fields + _FIELDS_SIZE * relation
            if load64(rules + 8):
                status = filter_parts(parts, rules, scratch, scratch_size)
                if status != WRITTEN:
                    break
            needed = _frame_size(parts, operation, state)
            if needed > room - written:
                state[NEEDED] = needed
                status = np.int64(NO_ROOM)
                break
            _count(state, time)
            frame = target + written
            end = _put_frame(parts, operation, relation, time, size, frame, state)
            written = end - target
        else:
            _count(state, time)
            if operation:
                state[FILTERED] += 1
            elif state[DEFINITIONS] == KERNEL:
                state[DEFINITIONS] = PYTHON
        _passed(parts, state)
        at = event + size
    state[AT] = at
    state[STATUS] = status
    return written
