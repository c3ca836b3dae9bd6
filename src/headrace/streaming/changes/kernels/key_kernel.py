"""Kernels that hash and compare keys: keys that render the same are the same key.

Integers and texts are used as they are in the log, which is how they are rendered; other types are
first rendered as JSON by kernels whose addresses are in the scratch memory, so that kernels that
read logs do not link them. A value that no kernel renders is noted in the scratch memory; the
caller renders it (`key_columns.py`) and calls again. If transforms or the converter show different
keys alike, the hash is that of the shown key (FORM).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import AS_JSON, FIRST_DOCUMENT
from headrace.connect.images import BINARY, CELL_BYTES, TEXT, UNAVAILABLE, has_value
from headrace.connect.kernels.equality import same_bytes
from headrace.connect.kernels.functions import inlined_part, part
from headrace.connect.kernels.memory import PADDING, caller_of, load8, load64, store64
from headrace.connect.kernels.text import hash_bytes, mix

# A key column: eight int64. The texts are those shown for a null and for an unavailable cell.
(
    COLUMN,
    ENCODING,  # or AS_SENT
    PARAMETER,
    NULL_TEXT,
    NULL_LENGTH,  # or NO_TEXT
    UNAVAILABLE_TEXT,
    UNAVAILABLE_LENGTH,
    FORM,  # form that is hashed: AS_RENDERED, NOTHING, or a form that HASH_ID knows
) = range(8)
COLUMN_WORDS = 8
_COLUMN_SIZE = 8 * COLUMN_WORDS

MAX_COLUMNS = 4096  # the largest number of a table's columns

_QUOTE = ord('"')
AS_SENT = -1
NOTHING, AS_RENDERED = -1, 0
"""Forms: the column is not part of hashes; its rendered text is hashed."""
NO_TEXT = -1  # length of a JSON null
_LACKING = -2
_TOO_LARGE = -3

GROWTH, SLACK = 8, 512
"""Bytes of text that kernels may write per byte of a cell, and additional bytes."""

# The scratch memory: the cells of two images, two texts that encoders write, and the texts of one
# frame that Python renders: how many there are, and whether one is missing; the addresses of the
# kernels that write JSON of cells (ENCODE_CELL), of cells that hold BSON (PUT_DOCUMENT), and hash
# the latter by a form (HASH_ID), if there are such columns; and per text the cell's address, the
# key column's address, the text's address (0: missing) and its length (the cell's, while it is
# missing).
CELLS = CELL_BYTES * MAX_COLUMNS
_LARGEST_CELL = 6000
_TEXT_BYTES = GROWTH * _LARGEST_CELL + SLACK + PADDING
_FIRST_TEXT = 2 * CELLS
_SECOND_TEXT = _FIRST_TEXT + _TEXT_BYTES
RENDERED = _SECOND_TEXT + _TEXT_BYTES
LACKING = RENDERED + 8
CALLED = RENDERED + 16
ENCODE_CELL, PUT_DOCUMENT, HASH_ID, _CALLED_WORDS = range(4)  # words at CALLED
ENTRIES = CALLED + 8 * _CALLED_WORDS
ENTRY_WORDS = 4
_MAX_ENTRIES = 2 * MAX_COLUMNS
SCRATCH = ENTRIES + 8 * ENTRY_WORDS * _MAX_ENTRIES

_call5, _call6 = caller_of(5), caller_of(6)


@part
def _rendered(scratch, column, address, length):
    """Return address and length of the text that Python rendered for the cell at `address`;
    without one, note the cell as missing."""
    count = load64(scratch + RENDERED)
    for i in range(count):
        entry = scratch + ENTRIES + 8 * ENTRY_WORDS * i
        if load64(entry) == address and load64(entry + 8) == column:
            if load64(entry + 16):
                return load64(entry + 16), load64(entry + 24)
            return np.int64(0), np.int64(_LACKING)
    store64(scratch + LACKING, 1)
    if count < _MAX_ENTRIES:
        entry = scratch + ENTRIES + 8 * ENTRY_WORDS * count
        store64(entry, address)
        store64(entry + 8, column)
        store64(entry + 16, 0)
        store64(entry + 24, length)
        store64(scratch + RENDERED, count + 1)
    return np.int64(0), np.int64(_LACKING)


@inlined_part
def _text(column, cells, fallback, scratch, out):
    """Return address and length of a key column's text, without quotes; an unavailable cell is
    taken from `fallback` if that has a value."""
    place = CELL_BYTES * load64(column)
    cell = cells + place
    kind = load64(cell)
    if kind == UNAVAILABLE and fallback and has_value(load64(fallback + place)):
        cell = fallback + place
        kind = load64(cell)
    if kind == UNAVAILABLE:
        return column[UNAVAILABLE_TEXT], column[UNAVAILABLE_LENGTH]
    if not has_value(kind):
        return column[NULL_TEXT], column[NULL_LENGTH]
    address = load64(cell + 8)
    length = load64(cell + 16)
    encoding = column[ENCODING]
    if encoding == AS_SENT:
        return address, length
    if length <= _LARGEST_CELL:
        parameter = column[PARAMETER]
        end = np.int64(-1)
        if encoding < FIRST_DOCUMENT:
            encode_cell = load64(scratch + CALLED + 8 * ENCODE_CELL)
            end = _call6(encode_cell, (kind, address, length, encoding, parameter, out))
        elif kind == BINARY:
            put_document = load64(scratch + CALLED + 8 * PUT_DOCUMENT)
            end = _call5(put_document, (address, length, encoding, AS_JSON, out))
        if end >= 0:
            if load8(out) == _QUOTE:
                return out + 1, end - out - 2
            return out, end - out
    return _rendered(scratch, column, address, length)


@inlined_part
def key_hash(topic, columns, count, cells, fallback, scratch):
    """Return the hash of a topic and `count` key columns; undefined if it sets scratch[LACKING]."""
    value = topic
    for i in range(count):
        column = columns + _COLUMN_SIZE * i
        cell = cells + CELL_BYTES * load64(column)
        form = column[FORM]
        if form == NOTHING:
            continue
        if form != AS_RENDERED and load64(cell) == BINARY:
            length = load64(cell + 16)
            if length > _LARGEST_CELL:
                value = mix(value, _TOO_LARGE)
            else:
                value = _call5(
                    load64(scratch + CALLED + 8 * HASH_ID),
                    (value, load64(cell + 8), length, form, scratch + _FIRST_TEXT),
                )
            continue
        if load64(cell) == TEXT and column[ENCODING] == AS_SENT:
            value = hash_bytes(value, load64(cell + 8), load64(cell + 16))
            continue
        address, length = _text(column, cells, fallback, scratch, scratch + _FIRST_TEXT)
        value = mix(value, -1) if length < 0 else hash_bytes(value, address, length)
    return value


@inlined_part
def same_key(columns, count, old, new, scratch):
    """Return whether two images of a row have the same key; undefined if it sets
    scratch[LACKING]."""
    same = True
    for i in range(count):
        column = columns + _COLUMN_SIZE * i
        place = CELL_BYTES * load64(column)
        if has_value(load64(old + place)) and load64(old + place) == load64(new + place):
            if same_bytes(
                load64(old + place + 8),
                load64(old + place + 16),
                load64(new + place + 8),
                load64(new + place + 16),
            ):
                continue
            if column[ENCODING] == AS_SENT:
                return False
        a, size_a = _text(column, old, 0, scratch, scratch + _FIRST_TEXT)
        b, size_b = _text(column, new, old, scratch, scratch + _SECOND_TEXT)
        if not same_bytes(a, size_a, b, size_b):
            same = False
    return same
