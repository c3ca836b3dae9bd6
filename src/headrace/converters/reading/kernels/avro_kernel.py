"""Kernel that reads Avro's binary encoding into cells.

Rare cases are left to Python: the kernel returns -1 for the whole part, also if the bytes do not
fit their schema. The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import BINARY, CELL_BYTES, TEXT
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8, load32, load64, stack_memory, store32, store64
from headrace.connect.kernels.text import HIGH_BITS
from headrace.converters.reading.fields import (
    BOOLEAN,
    BYTES,
    COLUMN,
    COUNT,
    DECIMAL_BYTES,
    FIELD_BYTES,
    FIRST,
    FLOAT,
    INTEGER,
    KIND,
    NO_UNION,
    PARAMETER,
    STRING,
    STRUCT,
    UNION,
)
from headrace.converters.reading.kernels.json_kernel import (
    NUMBER_BYTES,
    put_cell,
    put_decimal_cell,
    put_integer,
)

_MAX_DEPTH = 48
_FRAME_BYTES = 16
_frames = stack_memory(_MAX_DEPTH * _FRAME_BYTES)
_FAILED = np.int64(-1)
_MAX_SHIFT = 63


@part
def _long(place, end):
    """Read a zig-zag integer; returns it, and the address after it."""
    value, shift = np.int64(0), np.int64(0)
    while place < end and shift <= _MAX_SHIFT:
        byte = load8(place)
        value |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1), place
        shift += 7
    return np.int64(0), _FAILED


@part
def is_ascii(address, length):
    """Whether all bytes are below 128."""
    offset = 0
    while offset + 8 <= length:
        if load64(address + offset) & HIGH_BITS:
            return False
        offset += 8
    while offset < length:
        if load8(address + offset) & 0x80:
            return False
        offset += 1
    return True


@part
def _is_utf8(address, length):
    """Whether the bytes are UTF-8."""
    place, end = address, address + length
    while place < end:
        first = load8(place)
        if first < 0x80:
            place += 1
            continue
        if first < 0xC2 or first > 0xF4:
            return False
        tails = 1 if first < 0xE0 else 2 if first < 0xF0 else 3
        if place + tails >= end:
            return False
        second = load8(place + 1)
        if first == 0xE0 and second < 0xA0:
            return False
        if first == 0xED and second > 0x9F:
            return False
        if first == 0xF0 and second < 0x90:
            return False
        if first == 0xF4 and second > 0x8F:
            return False
        for i in range(1, tails + 1):
            if load8(place + i) & 0xC0 != 0x80:
                return False
        place += tails + 1
    return True


@part
def _block(kind, field, place, end, cell, number):
    """Read a string, bytes or a decimal; returns the address after it."""
    length, place = _long(place, end)
    if place < 0 or length < 0 or length > end - place:
        return _FAILED
    if kind == STRING:
        if not is_ascii(place, length) and not _is_utf8(place, length):
            return _FAILED
        put_cell(cell, TEXT, place, length)
    elif kind == BYTES:
        put_cell(cell, BINARY, place, length)
    elif not put_decimal_cell(cell, place, length, load64(field + PARAMETER), number):
        return _FAILED
    return place + length


@part
def _scalar(field, place, end, cell, number, booleans):
    """Read a value of a field that is not a struct; returns the address after it."""
    kind = load64(field + KIND)
    if kind == INTEGER:
        value, place = _long(place, end)
        if place < 0 or not put_integer(cell, value, load64(field + PARAMETER), number):
            return _FAILED
        return place
    if kind in (STRING, BYTES, DECIMAL_BYTES):
        return _block(kind, field, place, end, cell, number)
    if kind == BOOLEAN:
        if place >= end or load8(place) > 1:
            return _FAILED
        put_cell(cell, BINARY, booleans + load8(place), 1)
        return place + 1
    if kind == FLOAT:
        size = load64(field + PARAMETER) // 8
        if size > end - place:
            return _FAILED
        if size == 8:
            store64(number, load64(place))
        else:
            store32(number, load32(place))
        put_cell(cell, BINARY, number, size)
        return place + size
    return _FAILED


@part
def parse_avro(field, place, end, cells, numbers, booleans):
    """Fill the cells of a part with the value at `place`, which ends at `end`; memory is that of
    `parse_json`. Returns `end`, or -1."""
    frames, depth = _frames(), 0
    while True:
        column = load64(field + COLUMN)
        cell = cells + CELL_BYTES * column
        is_null = False
        if load64(field + UNION) != NO_UNION:
            branch, place = _long(place, end)
            if place < 0 or branch < 0 or branch > 1:
                return _FAILED
            is_null = branch == load64(field + UNION)
        if not is_null:
            if load64(field + KIND) == STRUCT:
                if depth == _MAX_DEPTH:
                    return _FAILED
                if column >= 0:
                    put_cell(cell, BINARY, booleans + 1, 1)
                store64(frames + _FRAME_BYTES * depth, load64(field + FIRST))
                store64(frames + _FRAME_BYTES * depth + 8, load64(field + COUNT))
                depth += 1
            else:
                number = numbers + NUMBER_BYTES * column
                place = _scalar(field, place, end, cell, number, booleans)
                if place < 0:
                    return _FAILED
        # The next member of the innermost open struct.
        while depth > 0 and load64(frames + _FRAME_BYTES * (depth - 1) + 8) == 0:
            depth -= 1
        if depth == 0:
            return place if place == end else _FAILED
        frame = frames + _FRAME_BYTES * (depth - 1)
        field = load64(frame)
        store64(frame, field + FIELD_BYTES)
        store64(frame + 8, load64(frame + 8) - 1)
