"""pgoutput frames to rows of the index. Bytes in, rows out: no connection, no clock.

Formats: PostgreSQL manual, "Logical Replication Message Formats" and "Streaming Replication
Protocol". One compiled pass checks every length of every frame against the frame's end, so what
reads the images afterwards may trust their structure. Rare messages (relations, truncates,
logical messages) are handed to Python one by one.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.memory import (
    address_of,
    kernel,
    load8,
    load16_be,
    load32_be,
    load64,
    load64_be,
    store8,
    store32,
    store64,
)
from headrace.connect.rows import BEGIN, ENDING, NULL, ROW, TRANSACTION, offset_in_row
from headrace.connectors.postgresql import key_kernel
from headrace.converters.json.numbers import wrapping_multiply

# Words of `state` (int64).
(
    POSITION,  # first byte not consumed, from the start of the segment
    STATUS,
    ROWS,  # rows in this segment
    TRANSACTIONS,  # transactions begun in this segment that have a row in it
    ENDS,  # commits in this segment that ended a transaction with rows
    OPEN,  # 1 between BEGIN and COMMIT
    XID,
    COMMIT_US,
    FINAL_LSN,
    ORDINAL,  # messages B I U D T M of the open transaction so far
    LAST_COMMIT,  # end LSN of the last COMMIT, or NULL
    COMPLETE,  # everything up to this LSN was received
    WAL_END,  # the server's position as last told
    REPLY,  # 1: the server asked for a status message
    TRANSACTION_ROW,  # index of the open transaction in this segment; -1: not there yet
    CHECK_FINAL,  # resume inside a transaction: the row at this ordinal …
    CHECK_ORDINAL,
    CHECK_LSN,  # … must have this LSN
    CHECKED,  # 0 waiting, 1 right, 2 wrong
    CHANGES,  # row changes seen, captured or not
    TRANSACTION_HAS_ROWS,
    BEGINS,  # relation of BEGIN records + 1; 0: transactions have no border records
    ENDINGS,  # relation of END records + 1
    ORIGIN_MAP,  # address of int64 per relation: the version of this origin's rows; 0: no origin
    ORIGIN_MAP_LENGTH,
    ORIGIN_LSN,
    FILTERED,  # row changes that make no record
) = range(27)
STATE_WORDS = 32

# Ways to compare two texts of a column, see unchanged.py.
EXACT, TEXT_BEGINNING, BYTES_BEGINNING, NUMERIC = range(4)

# Statuses.
MORE, ROWS_FULL, RELATION, RARE, BROKEN, SERVER_ERROR, COPY_DONE, KEY = range(8)

# A relation version: eight int64.
(
    CAPTURED,
    COLUMNS,
    TOPIC_HASH,
    KEYS,  # see key_kernel.py
    KEY_COUNT,
    COMPARED,  # see unchanged.py
    COMPARED_COUNT,
    SKIP_UNCHANGED,  # 1: updates of which no compared column changed are dropped
    RELATION_WORDS,
) = range(9)

# Options word.
TOMBSTONES, SKIP_CREATE, SKIP_UPDATE, SKIP_DELETE = 1, 2, 4, 8

END = np.dtype([("rows", "<i8"), ("end_lsn", "<i8"), ("last_commit", "<i8"), ("commit_us", "<i8")])
"""A commit: how many rows of the segment come before it, its end LSN, and the end LSN of the
last COMMIT then (its own, unless a non-transactional message ends here) with its time."""

US_1970_TO_2000 = 946_684_800_000_000  # PostgreSQL counts from 2000-01-01 UTC
_ROW_SIZE = ROW.itemsize
_TRANSACTION_SIZE = TRANSACTION.itemsize
_END_SIZE = END.itemsize
_NULL = int(NULL)
_R = {name: offset_in_row(name) for name in ROW.names or ()}
_OLD, _NEW, _OTHER = _R["old"], _R["new"], _R["other"]
_POSITION, _LSN, _ORDINAL, _PART = _R["position"], _R["lsn"], _R["ordinal"], _R["part"]
_HASH, _SIZE, _TRANSACTION, _RELATION = _R["hash"], _R["size"], _R["transaction"], _R["relation"]
_OPERATION, _KIND, _MARKER, _FLAGS = _R["operation"], _R["kind"], _R["marker"], _R["flags"]
_FILLER = _R["filler"]


@kernel
def split_checked(image, end, columns, cells):
    """Image → (kind, address, length) triples; returns the image's end, or -1 when it is broken
    or has another number of columns."""
    if image + 2 > end or load16_be(image) != columns:
        return -1
    place = image + 2
    for column in range(columns):
        if place >= end:
            return -1
        kind = load8(place)
        place += 1
        target = cells + 24 * column
        store64(target, kind)
        if kind == 116:
            if place + 4 > end:
                return -1
            length = load32_be(place)
            place += 4
            if length > end - place:
                return -1
            store64(target + 8, place)
            store64(target + 16, length)
            place += length
        elif kind != 110 and kind != 117:
            return -1
    return place


@kernel
def _beginning(address, length, units):
    """Bytes of the characters in the first `units` UTF-16 code units."""
    if length <= units:
        return length
    for place in range(length):
        byte = load8(address + place)
        if byte & 0xC0 != 0x80:
            units -= 2 if byte >= 0xF0 else 1
            if units < 0:
                return np.int64(place)
    return length


@kernel
def _without_zeros(address, length):
    """Length of a number's text without zeros at the end of its fraction."""
    point = False
    for place in range(length):
        if load8(address + place) == 46:
            point = True
    if not point:
        return length
    while load8(address + length - 1) == 48:
        length -= 1
    if load8(address + length - 1) == 46:
        length -= 1
    return length


@kernel
def _is_unchanged(relation, old, new):
    """Whether both images show the same row; an unavailable cell is as it was."""
    compared = load64(relation + 8 * COMPARED)
    for i in range(load64(relation + 8 * COMPARED_COUNT)):
        column = 24 * load64(compared + 24 * i)
        kind = load64(new + column)
        if kind == 117:
            continue
        if kind != load64(old + column):
            return False
        if kind != 116:
            continue
        a = load64(old + column + 8)
        b = load64(new + column + 8)
        size_a = load64(old + column + 16)
        size_b = load64(new + column + 16)
        way = load64(compared + 24 * i + 8)
        most = load64(compared + 24 * i + 16)
        if way == TEXT_BEGINNING:
            size_a = _beginning(a, size_a, most)
            size_b = _beginning(b, size_b, most)
        elif way == BYTES_BEGINNING:
            size_a = min(size_a, most)
            size_b = min(size_b, most)
        elif way == NUMERIC:
            size_a = _without_zeros(a, size_a)
            size_b = _without_zeros(b, size_b)
        if size_a != size_b:
            return False
        for j in range(size_a):
            if load8(a + j) != load8(b + j):
                return False
    return True


@kernel
def _add_row(rows, state, old, new, other, lsn, part, value, size, relation, operation, flags):
    row = rows + _ROW_SIZE * load64(state + 8 * ROWS)
    store64(row + _OLD, old)
    store64(row + _NEW, new)
    store64(row + _OTHER, other)
    store64(row + _POSITION, load64(state + 8 * FINAL_LSN))
    store64(row + _LSN, lsn)
    store64(row + _ORDINAL, load64(state + 8 * ORDINAL))
    store64(row + _PART, part)
    store64(row + _HASH, value)
    store64(row + _SIZE, size)
    store32(row + _TRANSACTION, load64(state + 8 * TRANSACTION_ROW))
    store32(row + _RELATION, relation)
    store8(row + _OPERATION, operation)
    store8(row + _KIND, 2)
    store8(row + _MARKER, 0)
    store8(row + _FLAGS, flags)
    store32(row + _FILLER, 0)
    store64(state + 8 * ROWS, load64(state + 8 * ROWS) + 1)


@kernel
def open_transaction(transactions, state):
    """Enter the open transaction in this segment's table, unless it is there."""
    if load64(state + 8 * TRANSACTION_ROW) >= 0:
        return
    index = load64(state + 8 * TRANSACTIONS)
    entry = transactions + _TRANSACTION_SIZE * index
    commit = load64(state + 8 * COMMIT_US)
    store64(entry, load64(state + 8 * XID))
    store64(entry + 8, commit // 1000)
    store64(entry + 16, commit)
    store64(entry + 24, commit * 1000)
    store64(entry + 32, load64(state + 8 * LAST_COMMIT))
    store64(entry + 40, load64(state + 8 * ORIGIN_LSN))
    store64(entry + 48, load64(state + 8 * FINAL_LSN))
    store64(state + 8 * TRANSACTION_ROW, index)
    store64(state + 8 * TRANSACTIONS, index + 1)


@kernel
def _of_origin(state, relation):
    """The version of `relation` for rows of the open transaction's origin."""
    known = load64(state + 8 * ORIGIN_MAP)
    if known == 0 or relation >= load64(state + 8 * ORIGIN_MAP_LENGTH):
        return relation
    return load64(known + 8 * relation)


@kernel
def find_relation(table, mask, oid):
    """Index of the current version of relation `oid` in an open-addressed table of (oid, index)
    pairs, or -1."""
    slot = wrapping_multiply(oid, 2654435761) & mask
    while True:
        found = load64(table + 16 * slot)
        if found == oid:
            return load64(table + 16 * slot + 8)
        if found < 0:
            return -1
        slot = (slot + 1) & mask


@kernel
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
    """Index complete messages of the segment at `base` from state[POSITION] up to `available`.

    `virtual` is the virtual address of the segment's first byte; rows hold virtual addresses.
    Returns nothing; state[STATUS] says why it stopped, state[POSITION] where. KEY: the scratch
    memory (`key_columns.KeyScratch`) lacks texts of keys in the frame at the position.
    """
    old_cells = scratch
    new_cells = scratch + key_kernel.CELLS
    position = load64(state + 8 * POSITION)
    status = MORE
    shift = virtual - base
    last_oid = np.int64(-1)
    relation_index = np.int64(-1)
    while available - position >= 5:
        length = load32_be(base + position + 1) + 1
        if length < 5:
            status = BROKEN
            break
        if position + length > available:
            break
        if (
            load64(state + 8 * ROWS) + 3 > rows_capacity
            or load64(state + 8 * TRANSACTIONS) + 1 > transactions_capacity
            or load64(state + 8 * ENDS) + 1 > ends_capacity
        ):
            status = ROWS_FULL
            break
        frame = base + position
        end = frame + length
        message = load8(frame)
        if message != 100:  # not CopyData
            if message == 69:
                status = SERVER_ERROR
                break
            if message == 99:
                status = COPY_DONE
                break
            # CopyBothResponse, notices, parameter changes: nothing of ours.
            position += length
            continue
        kind = load8(frame + 5)
        if length < 6:
            status = BROKEN
            break
        if kind == 107:  # primary keep-alive
            if length < 23:
                status = BROKEN
                break
            wal_end = load64_be(frame + 6)
            store64(state + 8 * WAL_END, wal_end)
            if load64(state + 8 * OPEN) == 0 and wal_end > load64(state + 8 * COMPLETE):
                store64(state + 8 * COMPLETE, wal_end)
            if load8(frame + 22):
                store64(state + 8 * REPLY, 1)
            position += length
            continue
        if kind != 119 or length < 31:
            status = BROKEN
            break
        lsn = load64_be(frame + 6)
        body = frame + 30
        operation = load8(body)
        if operation == 73 or operation == 85 or operation == 68:  # I U D
            if length < 30 + 8 or load64(state + 8 * OPEN) == 0:
                status = BROKEN
                break
            oid = load32_be(body + 1)
            if oid != last_oid:
                relation_index = find_relation(oids, oids_mask, oid)
                last_oid = oid
                if relation_index < 0:
                    status = BROKEN
                    break
            relation = relations + 8 * RELATION_WORDS * relation_index
            ordinal = load64(state + 8 * ORDINAL)
            if (
                load64(state + 8 * CHECKED) == 0
                and ordinal == load64(state + 8 * CHECK_ORDINAL)
                and load64(state + 8 * FINAL_LSN) == load64(state + 8 * CHECK_FINAL)
            ):
                store64(state + 8 * CHECKED, 1 if lsn == load64(state + 8 * CHECK_LSN) else 2)
            skip = (
                load64(relation + 8 * CAPTURED) == 0
                or (operation == 73 and (options & SKIP_CREATE))
                or (operation == 85 and (options & SKIP_UPDATE))
                or (operation == 68 and (options & SKIP_DELETE))
            )
            if not skip:
                columns = load64(relation + 8 * COLUMNS)
                place = body + 5
                tag = load8(place)
                old_image = np.int64(0)
                new_image = np.int64(0)
                full = np.int64(0)
                old_hash = np.int64(0)
                new_hash = np.int64(0)
                key_changed = False
                if tag == 75 or tag == 79:  # K, O
                    old_image = place + 1
                    place = split_checked(old_image, end, columns, old_cells)
                    if place < 0:
                        status = BROKEN
                        break
                    full = np.int64(1) if tag == 79 else np.int64(0)
                    if operation == 85:
                        if place >= end:
                            status = BROKEN
                            break
                        tag = load8(place)
                if operation != 68:
                    if tag != 78:
                        status = BROKEN
                        break
                    new_image = place + 1
                    place = split_checked(new_image, end, columns, new_cells)
                elif old_image == 0:
                    status = BROKEN
                    break
                if place != end:
                    status = BROKEN
                    break
                topic = load64(relation + 8 * TOPIC_HASH)
                keys = load64(relation + 8 * KEYS)
                key_count = load64(relation + 8 * KEY_COUNT)
                fallback = old_cells if old_image else np.int64(0)
                if new_image and old_image:
                    key_changed = not key_kernel.same_key(
                        keys, key_count, old_cells, new_cells, scratch
                    )
                if key_changed or not new_image:
                    old_hash = key_kernel.key_hash(topic, keys, key_count, old_cells, 0, scratch)
                if new_image:
                    new_hash = key_kernel.key_hash(
                        topic, keys, key_count, new_cells, fallback, scratch
                    )
                if load64(scratch + key_kernel.RENDERED):
                    if load64(scratch + key_kernel.LACKING):
                        status = KEY
                        break
                    store64(scratch + key_kernel.RENDERED, 0)
                skip = (
                    operation == 85
                    and full
                    and load64(relation + 8 * SKIP_UNCHANGED)
                    and not key_changed
                    and _is_unchanged(relation, old_cells, new_cells)
                )
            if not skip:
                shown = _of_origin(state, relation_index)
                open_transaction(transactions, state)
                store64(state + 8 * TRANSACTION_HAS_ROWS, 1)
                old_address = old_image + shift if old_image else np.int64(0)
                new_address = new_image + shift if new_image else np.int64(0)
                if operation == 73:
                    _add_row(
                        rows,
                        state,
                        0,
                        new_address,
                        0,
                        lsn,
                        2,
                        new_hash,
                        length,
                        shown,
                        99,
                        0,
                    )
                elif operation == 68:
                    _add_row(
                        rows,
                        state,
                        old_address,
                        0,
                        0,
                        lsn,
                        0,
                        old_hash,
                        length,
                        shown,
                        100,
                        full,
                    )
                    if options & TOMBSTONES:
                        _add_row(
                            rows,
                            state,
                            old_address,
                            0,
                            0,
                            lsn,
                            1,
                            old_hash,
                            length,
                            shown,
                            0,
                            full,
                        )
                elif key_changed:
                    _add_row(
                        rows,
                        state,
                        old_address,
                        0,
                        new_address,
                        lsn,
                        0,
                        old_hash,
                        length,
                        shown,
                        100,
                        2 | full,
                    )
                    if options & TOMBSTONES:
                        _add_row(
                            rows,
                            state,
                            old_address,
                            0,
                            new_address,
                            lsn,
                            1,
                            old_hash,
                            length,
                            shown,
                            0,
                            2 | full,
                        )
                    # The old image stands behind `other` only, so `before` is null.
                    _add_row(
                        rows,
                        state,
                        0,
                        new_address,
                        old_address,
                        lsn,
                        2,
                        new_hash,
                        length,
                        shown,
                        99,
                        2 | full,
                    )
                else:
                    _add_row(
                        rows,
                        state,
                        old_address,
                        new_address,
                        0,
                        lsn,
                        2,
                        new_hash,
                        length,
                        shown,
                        117,
                        full,
                    )
            else:
                store64(state + 8 * FILTERED, load64(state + 8 * FILTERED) + 1)
            store64(state + 8 * CHANGES, load64(state + 8 * CHANGES) + 1)
            store64(state + 8 * ORDINAL, ordinal + 1)
        elif operation == 66:  # BEGIN
            if length != 30 + 21 or load64(state + 8 * OPEN):
                status = BROKEN
                break
            store64(state + 8 * OPEN, 1)
            store64(state + 8 * FINAL_LSN, load64_be(body + 1))
            store64(state + 8 * COMMIT_US, load64_be(body + 9) + US_1970_TO_2000)
            store64(state + 8 * XID, load32_be(body + 17))
            store64(state + 8 * ORDINAL, 0)
            store64(state + 8 * TRANSACTION_ROW, -1)
            store64(state + 8 * TRANSACTION_HAS_ROWS, 0)
            borders = load64(state + 8 * BEGINS)
            if borders:
                open_transaction(transactions, state)
                store64(state + 8 * TRANSACTION_HAS_ROWS, 1)
                _add_row(rows, state, 0, 0, 0, lsn, 0, 0, length, borders - 1, BEGIN, 0)
            store64(state + 8 * ORDINAL, 1)
            store64(state + 8 * ORIGIN_MAP, 0)
            store64(state + 8 * ORIGIN_LSN, 0)
        elif operation == 67:  # COMMIT
            if length != 30 + 26 or load64(state + 8 * OPEN) == 0:
                status = BROKEN
                break
            end_lsn = load64_be(body + 10)
            borders = load64(state + 8 * ENDINGS)
            if borders:
                open_transaction(transactions, state)
                _add_row(rows, state, 0, 0, 0, lsn, 0, 0, length, borders - 1, ENDING, 0)
            if load64(state + 8 * TRANSACTION_HAS_ROWS):
                entry = ends + _END_SIZE * load64(state + 8 * ENDS)
                store64(entry, load64(state + 8 * ROWS))
                store64(entry + 8, end_lsn)
                store64(entry + 16, end_lsn)
                store64(entry + 24, load64(state + 8 * COMMIT_US))
                store64(state + 8 * ENDS, load64(state + 8 * ENDS) + 1)
            store64(state + 8 * OPEN, 0)
            store64(state + 8 * LAST_COMMIT, end_lsn)
            if end_lsn > load64(state + 8 * COMPLETE):
                store64(state + 8 * COMPLETE, end_lsn)
        elif operation == 82:  # relation
            status = RELATION
            break
        elif operation == 84 or operation == 77 or operation == 79:
            status = RARE  # truncate, logical message, origin
            break
        elif operation != 89:  # type
            status = BROKEN
            break
        if lsn > load64(state + 8 * WAL_END):
            store64(state + 8 * WAL_END, lsn)
        position += length
    store64(state + 8 * POSITION, position)
    store64(state + 8 * STATUS, status)


def load_kernel() -> None:
    """Compile (seconds, the first time on a machine) or load the pass, before a stream is open:
    compiling holds the interpreter's lock, and the server must be answered."""
    state = np.zeros(STATE_WORDS, np.int64)
    memory = np.zeros(key_kernel.SCRATCH, np.uint8)
    at = address_of(memory)
    index_frames(at, 0, 0, at, 0, at, 0, at, 0, at, 0, at, 0, at, address_of(state))
    oids = np.full(2, -1, np.int64)
    find_relation(address_of(oids), 0, 1)
    open_transaction(at, address_of(np.ones(STATE_WORDS, np.int64)))
