"""The parts of a change stream's event: located in its bytes, checked, filtered, and written as
cells.

`parts` is memory of PARTS_BYTES: the type and the address of each part's value, 0 if the event
lacks it.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import BINARY, CELL_HEAD_BYTES, put_null, store32_be
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import (
    PADDING,
    copy,
    load8,
    load32,
    load32_signed,
    load64,
    store8,
    store64,
)
from headrace.connect.kernels.text import as_word
from headrace.documents.bson import ARRAY, DOCUMENT, STRING
from headrace.documents.bson import NULL as NULL_KIND
from headrace.documents.kernels.field_kernel import filter_fields, filter_names
from headrace.documents.kernels.value_sizes import ID_NAME_SIZE, id_element, name_end, value_size
from headrace.streaming.changes.kernels.row_kernel import CREATE, DELETE
from headrace.streaming.changes.kernels.row_kernel import UPDATE as UPDATED_ROW

# Shares of the scratch memory: one for the output of each of the five filtered parts, and one that
# the kernels that filter use (`spare`).
_SCRATCH_PARTS = 6

# Parts of an event, by their numbers: `ID` is `_id` of the event, its resume token.
(
    ID,
    OPERATION_TYPE,
    CLUSTER_TIME,
    WALL_TIME,
    FULL_DOCUMENT,
    BEFORE,
    NS,
    DOCUMENT_KEY,
    UPDATE,
    LSID,
    TXN_NUMBER,
    SPLIT,
    _PARTS,
) = range(13)
_NAMES = {
    b"_id": ID,
    b"operationType": OPERATION_TYPE,
    b"clusterTime": CLUSTER_TIME,
    b"wallTime": WALL_TIME,
    b"fullDocument": FULL_DOCUMENT,
    b"fullDocumentBeforeChange": BEFORE,
    b"ns": NS,
    b"documentKey": DOCUMENT_KEY,
    b"updateDescription": UPDATE,
    b"lsid": LSID,
    b"txnNumber": TXN_NUMBER,
    b"splitEvent": SPLIT,
}
# Parts of an update's description, after those of the event: fields and arrays that it changed.
UPDATED, REMOVED, TRUNCATED = _PARTS, _PARTS + 1, _PARTS + 2
_UPDATE_NAMES = {
    b"updatedFields": UPDATED,
    b"removedFields": REMOVED,
    b"truncatedArrays": TRUNCATED,
}
KEY = _PARTS + 3  # `_id` of the document, from its documentKey
PARTS_BYTES = 16 * (KEY + 1)


def _table(names: dict[bytes, int]) -> np.ndarray:
    """A table of names: per name its length, its first, middle and last eight bytes (a shorter name
    repeats the first, padded with zeros), and the number of its part."""
    rows = []
    for name, number in names.items():
        first = as_word(name[:8].ljust(8, b"\0"))
        last = as_word(name[-8:]) if len(name) >= 8 else first
        middle = as_word(name[8:16]) if len(name) >= 16 else first
        rows.append((len(name), first, middle, last, number))
    return np.array(rows, np.int64)


EVENT_TABLE, UPDATE_TABLE = _table(_NAMES), _table(_UPDATE_NAMES)
_INSERT, _UPDATED_WORD = as_word(b"insert\0\0"), as_word(b"update\0\0")
_REPLACE, _DELETED = as_word(b"replace\0"), as_word(b"delete\0\0")
_DROP, _RENAME = as_word(b"drop\0\0\0\0"), as_word(b"rename\0\0")
_SEVEN_BYTES = (1 << 56) - 1


@part
def _word(name, length):
    """The first eight bytes of a name, padded with zeros."""
    word = load64(name)
    return word if length >= 8 else word & ((1 << (8 * length)) - 1)


@part
def _part_of(table, name, length):
    """The part that a name stands for, or -1."""
    word = _word(name, length)
    for i in range(len(table)):
        if table[i, 0] == length and table[i, 1] == word:
            if length > 8 and load64(name + length - 8) != table[i, 3]:
                continue
            if length >= 16 and load64(name + 8) != table[i, 2]:
                continue
            return table[i, 4]
    return np.int64(-1)


@part
def find_parts(table, document, size, parts):
    """Store the type and the address of each member of a document that `table` names. Returns 0, or
    a negative fault of `documents.bson`."""
    last = document + size - 1
    place = document + 4
    while place < last:
        kind = load8(place)
        name = place + 1
        end = name_end(name, last)
        place = end + 1
        length = value_size(kind, place, last - place)
        if length < 0:
            return length
        part = _part_of(table, name, end - name)
        if part >= 0:
            store64(parts + 16 * part, kind)
            store64(parts + 16 * part + 8, place)
        place += length
    return np.int64(0)


@part
def find_key(document, size, parts):
    """Store the type and the address of `_id` of a document. Returns as `find_parts`."""
    element = id_element(document, size)
    if element > 0:
        store64(parts + 16 * KEY, load8(element))
        store64(parts + 16 * KEY + 8, element + 1 + ID_NAME_SIZE)
        return np.int64(0)
    return element


@part
def is_of(parts, part, kind):
    """Return whether the event has the part, with a value of this BSON type."""
    return load64(parts + 16 * part) == kind and load64(parts + 16 * part + 8) != 0


@part
def place_of(parts, part):
    """Return the address of the part's value; 0: the event lacks it."""
    return load64(parts + 16 * part + 8)


@part
def cell_size(parts, part):
    """The size of a part as a cell, in bytes."""
    place = place_of(parts, part)
    kind = load64(parts + 16 * part)
    if place == 0 or kind == NULL_KIND:
        return np.int64(1)
    return CELL_HEAD_BYTES + 1 + value_size(kind, place, np.int64(1) << 40)


@part
def put_cell(parts, part, out):
    """Write a part as a cell: its type byte and its value; null if the part is missing or
    null."""
    place = place_of(parts, part)
    kind = load64(parts + 16 * part)
    if place == 0 or kind == NULL_KIND:
        return put_null(out)
    size = value_size(kind, place, np.int64(1) << 40)
    store8(out, BINARY)
    store32_be(out + 1, size + 1)
    store8(out + CELL_HEAD_BYTES, kind)
    return copy(place, size, out + CELL_HEAD_BYTES + 1)


@part
def put_key(parts, out):
    """Write the `_id` as `put_cell` does, but a null `_id` as a value."""
    if load64(parts + 16 * KEY) != NULL_KIND:
        return put_cell(parts, KEY, out)
    store8(out, BINARY)
    store32_be(out + 1, 1)
    store8(out + CELL_HEAD_BYTES, NULL_KIND)
    return out + CELL_HEAD_BYTES + 1


@part
def _operation_word(parts):
    """The event's operationType as a word, if it has at most seven bytes; else 0."""
    if not is_of(parts, OPERATION_TYPE, STRING):
        return np.int64(0)
    place = place_of(parts, OPERATION_TYPE)
    length = load32_signed(place) - 1
    if length > 7:
        return np.int64(0)
    return load64(place + 4) & _SEVEN_BYTES & ((1 << (8 * length)) - 1)


@part
def defines(parts):
    """Whether an event drops or renames a collection."""
    word = _operation_word(parts)
    return word in (_DROP, _RENAME)


@part
def operation_of(parts):
    """The event's operation, as in a row; 0 for events that make no row."""
    word = _operation_word(parts)
    if word == _INSERT:
        return np.int64(CREATE)
    if word in (_UPDATED_WORD, _REPLACE):
        return np.int64(UPDATED_ROW)
    if word == _DELETED:
        return np.int64(DELETE)
    return np.int64(0)


@part
def _filter_part(parts, part, is_change, rules, spare, out, room):
    """Apply the rules to a document, and replace the part by it; returns 0 or a fault."""
    place = place_of(parts, part)
    kind = load64(parts + 16 * part)
    if place == 0 or (kind != DOCUMENT and kind != ARRAY):
        return np.int64(0)
    address = load64(rules)
    count = load64(rules + 8)
    if kind == DOCUMENT:
        end = filter_fields(address, count, is_change, place, load32(place), spare, out, room)
    else:
        longest = load64(rules + 16)
        end = filter_names(address, count, place, load32(place), longest, out, room)
    if end < 0:
        return end
    store64(parts + 16 * part + 8, out)
    return np.int64(0)


@part
def filter_parts(parts, rules, scratch, scratch_size):
    """Apply the rules to every part that they concern; returns 0 or a fault, NO_ROOM of
    documents.bson if the scratch memory is too small."""
    share = scratch_size // _SCRATCH_PARTS
    room = share - PADDING
    spare = scratch + 5 * share
    fault = _filter_part(parts, FULL_DOCUMENT, 0, rules, spare, scratch, room)
    if fault == 0:
        fault = _filter_part(parts, BEFORE, 0, rules, spare, scratch + share, room)
    if fault == 0:
        fault = _filter_part(parts, UPDATED, 1, rules, spare, scratch + 2 * share, room)
    if fault == 0:
        fault = _filter_part(parts, REMOVED, 0, rules, spare, scratch + 3 * share, room)
    if fault == 0:
        fault = _filter_part(parts, TRUNCATED, 0, rules, spare, scratch + 4 * share, room)
    return fault
