"""Rows of the index for changes, for the kernels that read a log: one change makes up to three
rows.

A kernel that reads a log (a decoder) checks and splits the images of a change, and calls
`add_change` and `count_change`; `state` has its state of the open transaction, whose first words
are those below. Its own words follow them, from OWN_WORDS on. Transactions begin and end by
`transaction_kernel`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import CELL_BYTES, UNAVAILABLE, has_value
from headrace.connect.kernels.equality import same_bytes
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import load8, load64, store8, store32, store64
from headrace.connect.kernels.text import units_length
from headrace.connect.rows import (
    ROW,
    TRANSACTION,
    Flag,
    RowKind,
    offset_in_row,
    offset_in_transaction,
)
from headrace.streaming.changes.kernels import key_kernel

# Words of `state` (int64).
(
    ROWS,  # rows in this segment
    TRANSACTIONS,  # transactions begun in this segment that have a row in it
    POSITION_HIGH,  # of the open transaction, for its rows
    POSITION_LOW,
    ORDINAL,  # messages of the open transaction so far, including its BEGIN
    TRANSACTION_ID,
    COMMIT_US,  # since 1970-01-01 UTC
    LAST_COMMIT,  # end of the last transaction, or NULL
    ORIGIN_POSITION,  # of the commit on the server that it was replicated from
    TRANSACTION_ROW,  # index of the open transaction in this segment; -1: it has no entry yet
    TRANSACTION_HAS_ROWS,
    TRANSACTION_IMAGE,  # virtual address and bytes of the open transaction's image; 0: none
    TRANSACTION_IMAGE_SIZE,
    EXTRA,  # virtual address of the change's own image; 0: none
    BEGINS,  # relation of BEGIN records + 1; 0: transactions have no border records
    ENDINGS,  # relation of END records + 1
    VERSIONS,  # address of int64 per relation: the version that rows refer to; 0: its own index
    VERSIONS_LENGTH,
    FILTERED,  # changes that made no row
    INDEXED,  # bytes of this segment that are indexed
    ENDS,  # entries of `ends`, see END
    OPEN,  # 1 inside of a transaction
    COMPLETE_HIGH,  # end of the received log
    COMPLETE,
    HEAD_HIGH,  # end of the log as last reported by the database
    HEAD,
    FRAME_KERNEL,  # address of the kernel that indexes a frame, see frame_kernel.py
) = range(27)
OWN_WORDS = 27

END = np.dtype(
    [
        ("rows", "<i8"),
        ("position_high", "<i8"),
        ("position", "<i8"),
        ("last_commit", "<i8"),
        ("commit_us", "<i8"),
    ]
)
"""The end of a transaction: the number of rows of the segment before it, its place in the log (see
`rows.place_of`), and the end of the last transaction then (this one, or NULL) with its time."""

# Why a pass over a segment stopped: no complete unit is left, a table of the index may be full,
# texts of keys are missing (see key_kernel.py), or the log is broken. A log's own reasons follow.
MORE, FULL, KEY, BROKEN, OWN_STATUSES = range(5)

# A relation version: eight int64.
(
    CAPTURED,
    COLUMNS,
    TOPIC_HASH,
    KEYS,  # see key_kernel.py
    KEY_COUNT,
    COMPARED,  # columns that show whether an update changed anything, see COMPARED_BYTES
    COMPARED_COUNT,
    SKIP_UNCHANGED,  # 1: updates of which no compared column changed are dropped
    RELATION_WORDS,
) = range(9)

# Options word. SPLITS_KEYS: an update that changes its key becomes a delete and a create before
# skipped operations are left out, so that SKIP_UPDATE does not apply to it; otherwise SKIP_UPDATE
# leaves out every update.
TOMBSTONES, SKIP_CREATE, SKIP_UPDATE, SKIP_DELETE, SPLITS_KEYS = 1, 2, 4, 8, 16

# Ways to compare two texts of a column.
EXACT, TEXT_BEGINNING, BYTES_BEGINNING, NUMERIC = range(4)
COMPARED_BYTES = 24
"""Bytes of a compared column: its number, the way, and the units or bytes of a beginning that
count."""

CREATE, UPDATE, DELETE = ord("c"), ord("u"), ord("d")

_SKIPS = SKIP_CREATE | SKIP_UPDATE | SKIP_DELETE

# Outcomes of a change.
ADDED, LEFT_OUT, LACKS_KEY = range(3)

# `part` of a record in its change.
_DELETE_PART, _TOMBSTONE_PART, _VALUE_PART = range(3)

_FULL_OLD, _KEY_CHANGE = int(Flag.FULL_OLD), int(Flag.KEY_CHANGE)
_IN_TRANSACTION = int(RowKind.TRANSACTION)
_POINT, _ZERO = ord("."), ord("0")
_ROW_SIZE = ROW.itemsize
_R = {name: offset_in_row(name) for name in ROW.names or ()}
_OLD, _NEW, _COUNTERPART, _EXTRA = _R["old"], _R["new"], _R["counterpart"], _R["extra"]
_POSITION, _POSITION_HIGH = _R["position"], _R["position_high"]
_PLACE, _ORDINAL, _PART = _R["place"], _R["ordinal"], _R["part"]
_HASH, _SIZE, _TRANSACTION, _RELATION = _R["hash"], _R["size"], _R["transaction"], _R["relation"]
_OPERATION, _KIND, _MARKER, _FLAGS = _R["operation"], _R["kind"], _R["marker"], _R["flags"]
_SERIAL = _R["serial"]

_TRANSACTION_SIZE = TRANSACTION.itemsize
_T = {name: offset_in_transaction(name) for name in TRANSACTION.names or ()}
_T_ID, _T_MS, _T_US, _T_NS = _T["xid"], _T["commit_ms"], _T["commit_us"], _T["commit_ns"]
_T_LAST, _T_ORIGIN, _T_FINAL = _T["last_commit"], _T["origin_place"], _T["position"]
_T_IMAGE, _T_IMAGE_SIZE = _T["image"], _T["size"]


@part
def _without_zeros(address, length):
    """Return the length of a number's text without zeros at the end of its fraction."""
    has_point = False
    for place in range(length):
        if load8(address + place) == _POINT:
            has_point = True
    if not has_point:
        return length
    while load8(address + length - 1) == _ZERO:
        length -= 1
    if load8(address + length - 1) == _POINT:
        length -= 1
    return length


@part
def is_unchanged(compared, count, old, new):
    """Return whether the split cells of both images are equal in `count` compared columns; an
    unavailable cell counts as unchanged."""
    for i in range(count):
        entry = compared + COMPARED_BYTES * i
        column = CELL_BYTES * load64(entry)
        kind = load64(new + column)
        if kind == UNAVAILABLE:
            continue
        if kind != load64(old + column):
            return False
        if not has_value(kind):
            continue
        a = load64(old + column + 8)
        b = load64(new + column + 8)
        size_a = load64(old + column + 16)
        size_b = load64(new + column + 16)
        way = load64(entry + 8)
        limit = load64(entry + 16)
        if way == TEXT_BEGINNING:
            size_a = units_length(a, size_a, limit)
            size_b = units_length(b, size_b, limit)
        elif way == BYTES_BEGINNING:
            size_a = min(size_a, limit)
            size_b = min(size_b, limit)
        elif way == NUMERIC:
            size_a = _without_zeros(a, size_a)
            size_b = _without_zeros(b, size_b)
        if not same_bytes(a, size_a, b, size_b):
            return False
    return True


@entry
def open_transaction(transactions, state):
    """Enter the open transaction in this segment's table, unless it has an entry."""
    if state[TRANSACTION_ROW] >= 0:
        return
    index = state[TRANSACTIONS]
    entry = transactions + _TRANSACTION_SIZE * index
    commit = state[COMMIT_US]
    store64(entry + _T_ID, state[TRANSACTION_ID])
    store64(entry + _T_MS, commit // 1000)
    store64(entry + _T_US, commit)
    store64(entry + _T_NS, commit * 1000)
    store64(entry + _T_LAST, state[LAST_COMMIT])
    store64(entry + _T_ORIGIN, state[ORIGIN_POSITION])
    store64(entry + _T_FINAL, state[POSITION_LOW])
    store64(entry + _T_IMAGE, state[TRANSACTION_IMAGE])
    store64(entry + _T_IMAGE_SIZE, state[TRANSACTION_IMAGE_SIZE])
    state[TRANSACTION_ROW] = index
    state[TRANSACTIONS] = index + 1


@inlined_part
def add_row(
    rows, state, old, new, counterpart, place, part, hash_value, size, relation, operation, flags
):
    """Add one row of the open transaction, which is in the segment's table."""
    row = rows + _ROW_SIZE * state[ROWS]
    store64(row + _OLD, old)
    store64(row + _NEW, new)
    store64(row + _COUNTERPART, counterpart)
    store64(row + _EXTRA, state[EXTRA])
    store64(row + _POSITION_HIGH, state[POSITION_HIGH])
    store64(row + _POSITION, state[POSITION_LOW])
    store64(row + _PLACE, place)
    store64(row + _ORDINAL, state[ORDINAL])
    store64(row + _PART, part)
    store64(row + _HASH, hash_value)
    store64(row + _SIZE, size)
    store32(row + _TRANSACTION, state[TRANSACTION_ROW])
    store32(row + _RELATION, relation)
    store8(row + _OPERATION, operation)
    store8(row + _KIND, _IN_TRANSACTION)
    store8(row + _MARKER, 0)
    store8(row + _FLAGS, flags)
    store32(row + _SERIAL, 0)
    state[ROWS] += 1


@inlined_part
def add_deletion(
    rows, state, old, counterpart, place, hash_value, size, relation, flags, tombstone
):
    """Add the row of a delete, and that of its tombstone."""
    add_row(
        rows, state, old, 0, counterpart, place, _DELETE_PART, hash_value, size, relation, DELETE,
        flags,
    )  # fmt: skip
    if tombstone:
        add_row(
            rows, state, old, 0, counterpart, place, _TOMBSTONE_PART, hash_value, size, relation, 0,
            flags,
        )  # fmt: skip


@inlined_part
def add_value(
    rows, state, old, new, counterpart, place, hash_value, size, relation, operation, flags
):
    """Add the row of a create or an update."""
    add_row(
        rows, state, old, new, counterpart, place, _VALUE_PART, hash_value, size, relation,
        operation, flags,
    )  # fmt: skip


@inlined_part
def is_skipped(relation, operation, options):
    """Return whether the changes of a relation version (RELATION_WORDS at `relation`) with this
    operation make no rows: then their images need not be read. For updates that may change the key,
    `add_change` decides."""
    return (
        relation[CAPTURED] == 0
        or (operation == CREATE and (options & SKIP_CREATE))
        or (operation == UPDATE and (options & (SKIP_UPDATE | SPLITS_KEYS)) == SKIP_UPDATE)
        or (operation == DELETE and (options & SKIP_DELETE))
    )


@inlined_part
def add_change(
    rows,
    transactions,
    state,
    operation,
    relation_index,
    relation,
    old,
    new,
    is_full,
    old_cells,
    new_cells,
    place,
    size,
    options,
    scratch,
):
    """Add the rows of one change: a create, an update (if its key changed, a delete and a create of
    the new key, each unless its operation is skipped) or a delete, and tombstones.

    `old` and `new` are virtual addresses of images (0: none), which are split into the cells;
    `is_full`: the old image is a whole row. `size` is the change's bytes of log. Returns ADDED;
    LEFT_OUT: the update is skipped, or changed nothing that is shown; or LACKS_KEY: nothing was
    added, the texts that `scratch` lacks must be rendered first (see key_kernel.py).
    """
    topic = relation[TOPIC_HASH]
    keys = relation[KEYS]
    key_count = relation[KEY_COUNT]
    old_hash = np.int64(0)
    new_hash = np.int64(0)
    key_changed = False
    if new and old:
        key_changed = not key_kernel.same_key(keys, key_count, old_cells, new_cells, scratch)
    if key_changed or not new:
        old_hash = key_kernel.key_hash(topic, keys, key_count, old_cells, 0, scratch)
    if new:
        fallback = old_cells if old else np.int64(0)
        new_hash = key_kernel.key_hash(topic, keys, key_count, new_cells, fallback, scratch)
    if load64(scratch + key_kernel.RENDERED):
        if load64(scratch + key_kernel.LACKING):
            return LACKS_KEY
        store64(scratch + key_kernel.RENDERED, 0)
    if operation == UPDATE and (options & _SKIPS):
        skipped = SKIP_CREATE | SKIP_DELETE if key_changed else SKIP_UPDATE
        if (options & skipped) == skipped:
            return LEFT_OUT
    if (
        operation == UPDATE
        and is_full
        and relation[SKIP_UNCHANGED]
        and not key_changed
        and is_unchanged(
            relation[COMPARED],
            relation[COMPARED_COUNT],
            old_cells,
            new_cells,
        )
    ):
        return LEFT_OUT
    version = relation_index
    versions = state[VERSIONS]
    if versions and relation_index < state[VERSIONS_LENGTH]:
        version = versions[relation_index]
    open_transaction(transactions, state)
    state[TRANSACTION_HAS_ROWS] = 1
    flags = _FULL_OLD if is_full else 0
    tombstone = options & TOMBSTONES
    if operation == DELETE:
        add_deletion(rows, state, old, 0, place, old_hash, size, version, flags, tombstone)
    elif key_changed:
        flags |= _KEY_CHANGE
        if not options & SKIP_DELETE:
            add_deletion(rows, state, old, new, place, old_hash, size, version, flags, tombstone)
        if not options & SKIP_CREATE:
            # The old image is the counterpart only, so `before` is null.
            add_value(rows, state, 0, new, old, place, new_hash, size, version, CREATE, flags)
    else:
        add_value(rows, state, old, new, 0, place, new_hash, size, version, operation, flags)
    return ADDED


@inlined_part
def count_change(state, outcome):
    """Count a change of the open transaction that was read: ADDED, or LEFT_OUT."""
    if outcome == LEFT_OUT:
        state[FILTERED] += 1
    state[ORDINAL] += 1
