"""The compiled pass that splits BSON values: the cells of their leaves, and a hash of their
structures.

The structure of a value is everything but its leaves: types and names, in order. Of the elements of
an array only those count that differ from the element before, unless elements are numbered. The
rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import BINARY as BINARY_CELL
from headrace.connect.images import CELL_BYTES, TEXT
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load32,
    load32_signed,
    load64,
    stack_memory,
    store8,
    store64,
)
from headrace.connect.kernels.text import hash_bytes, mix
from headrace.documents.bson import (
    ARRAY,
    BAD_LENGTH,
    BINARY,
    BOOLEAN,
    CODE,
    CODE_WITH_SCOPE,
    DATE,
    DB_POINTER,
    DECIMAL128,
    DOCUMENT,
    DOUBLE,
    INT32,
    INT64,
    MAX_DEPTH,
    NO_ROOM,
    OBJECT_ID,
    OLD_BINARY,
    REGEX,
    STRING,
    SYMBOL,
    TIMESTAMP,
    TOO_DEEP,
    TRAILING_BYTES,
)
from headrace.documents.kernels.scalars import (
    MAX_SORTED_OPTIONS,
    put_decimal128,
    put_object_id,
    put_sorted_options,
)
from headrace.documents.kernels.value_sizes import name_end, value_size

SMALL_LONGS = 1
"""Flag: an int64 that fits 32 bits counts as an int32, as for readers of relaxed Extended JSON."""
NUMBERED = 2
"""Flag: elements of arrays are leaves of their own, like fields of documents."""
SIGNED_SECONDS = 4
"""Flag: the seconds of a timestamp are an int32, negative after 2038."""

SPLIT_WORDS = 3
"""Words (int64) of a split value: the hash of its structure, and the numbers of its first leaf and
of the first leaf after its last."""

LEAVES_PER_BYTE = 2
"""The most leaves per byte of BSON."""
SPARE_PER_BYTE = 4
"""The most bytes per byte of BSON that a kernel writes to hold converted leaves."""
SPARE_SLACK = 128

_SEED = 0x3C6EF372FE94F82B
# Flags of a container, which determine the names of its elements.
_IS_ARRAY, _IS_NUMBERED, _IS_SCOPE = 1, 2, 4
# A frame: the end and the flags of the enclosing container, its hash, that of its last element.
_FRAME = 32
_LAST, _FLAGS, _HASH, _ELEMENT = range(0, _FRAME, 8)
_allocate_frames = stack_memory(_FRAME * MAX_DEPTH)


@inlined_part
def _put_leaf(out, kind, address, length):
    store64(out, kind)
    store64(out + 8, address)
    store64(out + 16, length)
    return out + CELL_BYTES


@part
def _put_converted(kind, place, size, options, out, spare):
    """Write the leaves of a value that has to be converted; returns the end of the leaves and of
    the memory at `spare`."""
    start = spare
    if kind == OBJECT_ID:
        spare = put_object_id(place, spare)
        return _put_leaf(out, TEXT, start, spare - start), spare
    if kind == DECIMAL128:
        spare = put_decimal128(place, spare)
        return _put_leaf(out, TEXT, start, spare - start), spare
    if kind == TIMESTAMP:
        seconds = np.int64(load32(place + 4))
        if options & SIGNED_SECONDS:
            seconds = np.int64(load32_signed(place + 4))
        store64(spare, seconds * 1000)
        return _put_leaf(out, BINARY_CELL, start, 8), spare + 8
    if kind == REGEX:
        middle = name_end(place, place + size - 1)
        out = _put_leaf(out, TEXT, place, middle - place)
        length = place + size - middle - 2
        if length < 2 or length > MAX_SORTED_OPTIONS:
            return _put_leaf(out, TEXT, middle + 1, length), spare
        put_sorted_options(middle + 1, length, spare)
        return _put_leaf(out, TEXT, spare, length), spare + length
    if kind == DB_POINTER:
        out = _put_leaf(out, TEXT, place + 4, size - 17)
        spare = put_object_id(place + size - 12, spare)
        return _put_leaf(out, TEXT, start, spare - start), spare
    return out, spare


@inlined_part
def _put_scalar(kind, place, size, options, out, spare):
    """Write the leaf of a scalar value; returns the end of the leaves and of the memory at `spare`.
    Null, undefined, MinKey and MaxKey have no leaf."""
    if kind in (STRING, CODE, SYMBOL):
        return _put_leaf(out, TEXT, place + 4, size - 5), spare
    if kind in (INT32, INT64, DOUBLE, DATE, BOOLEAN):
        return _put_leaf(out, BINARY_CELL, place, size), spare
    if kind == BINARY:
        skipped = 4 if load8(place + 4) == OLD_BINARY else 0
        return _put_leaf(out, BINARY_CELL, place + 5 + skipped, size - 5 - skipped), spare
    return _put_converted(kind, place, size, options, out, spare)


@inlined_part
def _kind_read(kind, place, options):
    """Return the type that a value counts as: INT32 instead of INT64 if the options say so."""
    if kind == INT64 and options & SMALL_LONGS:
        value = load64(place)
        if -0x80000000 <= value <= 0x7FFFFFFF:
            return np.int64(INT32)
    return np.int64(kind)


@part
def split_value(kind, place, rest, options, out, spare):
    """Split the value of type `kind` whose `rest` bytes are at `place`; returns the hash of its
    structure, the end of its leaves at `out` and the end of the memory at `spare`. For an invalid
    value the second is a fault of `headrace.documents.bson`."""
    fault = np.int64(0)
    size = value_size(kind, place, rest)
    if size != rest:
        return fault, (size if size < 0 else np.int64(TRAILING_BYTES)), spare
    frames = _allocate_frames()
    depth, silent = np.int64(0), np.int64(0)
    last = place + rest
    flags = np.int64(0)
    value, element = np.int64(_SEED), np.int64(0)
    while True:
        if kind in (DOCUMENT, ARRAY, CODE_WITH_SCOPE):
            if depth == MAX_DEPTH:
                return fault, np.int64(TOO_DEEP), spare
            frame = frames + _FRAME * depth
            store64(frame + _LAST, last)
            store64(frame + _FLAGS, flags)
            store64(frame + _HASH, value)
            store64(frame + _ELEMENT, element)
            depth += 1
            last = place + size - 1
            flags = np.int64(0)
            value, element = mix(np.int64(_SEED), kind), np.int64(0)
            if kind == CODE_WITH_SCOPE:
                flags = np.int64(_IS_SCOPE)
                length = load32_signed(place + 4)
                if not silent:
                    out = _put_leaf(out, TEXT, place + 8, length - 1)
                place += 8 + length
            elif kind == ARRAY:
                flags = np.int64(_IS_ARRAY | _IS_NUMBERED)
                if not options & NUMBERED:
                    flags = np.int64(_IS_ARRAY)
                    if not silent:
                        store8(spare, ARRAY)
                        end = copy(place, size, spare + 1)
                        out = _put_leaf(out, BINARY_CELL, spare, end - spare)
                        spare = end
                    silent += 1
            place += 4
        else:
            kind = _kind_read(kind, place, options)
            if not silent:
                shown_size = np.int64(4) if kind == INT32 else size
                out, spare = _put_scalar(kind, place, shown_size, options, out, spare)
            place += size
            if flags & _IS_ARRAY and not flags & _IS_NUMBERED:
                if element != kind:
                    value = mix(value, kind)
                element = kind
            else:
                value = mix(value, kind)
        while place == last and depth:
            if flags & _IS_ARRAY and not flags & _IS_NUMBERED:
                silent -= 1
            place = last + 1
            depth -= 1
            frame = frames + _FRAME * depth
            inner = value
            last, flags = load64(frame + _LAST), load64(frame + _FLAGS)
            value, element = load64(frame + _HASH), load64(frame + _ELEMENT)
            if flags & _IS_ARRAY and not flags & _IS_NUMBERED:
                if element != inner:
                    value = mix(value, inner)
                element = inner
            else:
                value = mix(value, inner)
        if depth == 0:
            return value, out, spare
        kind = load8(place)
        place += 1
        end = name_end(place, last)
        if not flags & _IS_ARRAY:
            value = hash_bytes(value, place, end - place)
        place = end + 1
        size = value_size(kind, place, last - place)
        if size < 0:
            return fault, size, spare


@entry
def split_values(cells, count, options, out, room, spare, spare_room, splits):
    """Split `count` values: each cell (kind, address, length) is a type byte and its value.

    The leaves go to `out`, which has space for `room` of them, and converted leaves to `spare`. A
    row of `splits` has SPLIT_WORDS. Returns the number of split values; for an invalid value `fault
    << 32 | number`, and if the next value may not fit, `NO_ROOM << 32 | number`.
    """
    start, out_end, spare_end = out, out + CELL_BYTES * room, spare + spare_room
    for i in range(count):
        cell = cells + CELL_BYTES * i
        address, length = load64(cell + 8), load64(cell + 16)
        if length < 1:
            return np.int64(BAD_LENGTH) << 32 | i
        if (
            out + CELL_BYTES * (length // LEAVES_PER_BYTE + 2) > out_end
            or spare + SPARE_PER_BYTE * length + SPARE_SLACK > spare_end
        ):
            return np.int64(NO_ROOM) << 32 | i
        begin = out
        value, out, spare = split_value(
            load8(address), address + 1, length - 1, options, out, spare
        )
        if out < 0:
            return out << 32 | i
        row = splits + 8 * SPLIT_WORDS * i
        store64(row, value)
        store64(row + 8, (begin - start) // CELL_BYTES)
        store64(row + 16, (out - start) // CELL_BYTES)
    return np.int64(count)


@entry
def scatter_leaves(leaves, firsts, rows, count, leaf_count, tables, table_rows):
    """Copy the leaves of values of one structure, which begin at the numbers `firsts`, column by
    column into `leaf_count` tables of `table_rows` cells, at `rows`."""
    table_bytes = CELL_BYTES * table_rows
    for i in range(count):
        leaf = leaves + CELL_BYTES * firsts[i]
        target = tables + CELL_BYTES * rows[i]
        for _ in range(leaf_count):
            store64(target, load64(leaf))
            store64(target + 8, load64(leaf + 8))
            store64(target + 16, load64(leaf + 16))
            leaf += CELL_BYTES
            target += table_bytes
