"""The compiled pass from texts of Extended JSON to BSON values.

Its values are those of plain Python; texts that it leaves (`PLAIN`) are invalid or rare, and read
by plain Python. A text is checked up to its last byte, and no byte after it is considered. The
rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import BINARY as BINARY_CELL
from headrace.connect.images import CELL_BYTES
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import load8, load64, stack_memory, store8, store32, store64
from headrace.connect.kernels.text import hash_bytes, mix, put_int
from headrace.documents.bson import (
    ARRAY,
    BOOLEAN,
    DOCUMENT,
    DOUBLE,
    INT32,
    INT64,
    MAX_DEPTH,
    NULL,
    STRING,
)
from headrace.documents.parsing.kernels.number_kernel import parse_number
from headrace.documents.parsing.kernels.special_kernel import (
    INFINITY,
    NAN,
    NEGATIVE_INFINITY,
    put_special,
)
from headrace.documents.parsing.kernels.string_kernel import (
    COLON,
    COMMA,
    QUOTE,
    after_byte,
    begins_with,
    put_name,
    put_string,
    skip_blanks,
    token,
)

PLAIN = -1
"""The text is left to plain Python."""
NO_ROOM = -2
"""The text may need more memory than is available."""
MANY_NAMES = -3
"""The text has more names than half of the places of the table of names."""

MARGIN = 128
"""Bytes that a value may have more than its text, and that a kernel writes after it."""
NAME_BYTES = 16
"""Bytes of a place in the table of names: the number of its text, and the hash of a name."""

_DOLLAR, _BACKSLASH = ord("$"), ord("\\")
_OPEN_BRACE, _CLOSE_BRACE, _OPEN_BRACKET, _CLOSE_BRACKET = map(ord, "{}[]")
_NULL, _TRUE, _FALSE = map(token, ("null", "true", "false"))
_SMALL_N, _SMALL_T, _SMALL_F, _LARGE_N, _LARGE_I, _DASH = map(ord, "ntfNI-")
_NAN_BITS, _INFINITY_BITS, _NEGATIVE = 0x7FF8 << 48, 0x7FF0 << 48, -(1 << 63)
_ZERO = ord("0")
_MAX_PROBES = 32

# A frame: the start of the enclosing container, the byte that closes it, and its next index.
_FRAME = 24
_START, _CLOSE, _INDEX = range(0, _FRAME, 8)
_allocate_frames = stack_memory(_FRAME * MAX_DEPTH)


@inlined_part
def _is_new_name(names, mask, number, start, name, length):
    """Record a name of the container that begins at `start`; returns whether the name is new, and
    the table had a free place nearby."""
    key = hash_bytes(start, name, length)
    # The low bits of a product hardly depend on the last bytes.
    at = mix(key, 0) & mask
    for _ in range(_MAX_PROBES):
        place = names + NAME_BYTES * at
        if load64(place) != number:
            store64(place, number)
            store64(place + 8, key)
            return True
        if load64(place + 8) == key:
            return False
        at = (at + 1) & mask
    return False


@part
def _put_literal(place, end, out):
    """Write a word or a number; returns its type, the place after it (0: neither) and its end."""
    byte = load8(place)
    if byte == _SMALL_T and begins_with(place, end, _TRUE):
        store8(out, 1)
        return np.int64(BOOLEAN), place + _TRUE[6], out + 1
    if byte == _SMALL_F and begins_with(place, end, _FALSE):
        store8(out, 0)
        return np.int64(BOOLEAN), place + _FALSE[6], out + 1
    if byte == _SMALL_N and begins_with(place, end, _NULL):
        return np.int64(NULL), place + _NULL[6], out
    if byte == _LARGE_N and begins_with(place, end, NAN):
        store64(out, _NAN_BITS)
        return np.int64(DOUBLE), place + NAN[6], out + 8
    if byte == _LARGE_I and begins_with(place, end, INFINITY):
        store64(out, _INFINITY_BITS)
        return np.int64(DOUBLE), place + INFINITY[6], out + 8
    if byte == _DASH and begins_with(place, end, NEGATIVE_INFINITY):
        store64(out, _INFINITY_BITS | _NEGATIVE)
        return np.int64(DOUBLE), place + NEGATIVE_INFINITY[6], out + 8
    is_double, value, place = parse_number(place, end)
    store64(out, value)
    if is_double:
        return np.int64(DOUBLE), place, out + 8
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return np.int64(INT32), place, out + 4
    return np.int64(INT64), place, out + 8


@inlined_part
def _put_index(index, out):
    """Write an element's name and the zero byte after it; returns its end."""
    if index < 10:
        store8(out, _ZERO + index)
        out += 1
    else:
        out = put_int(index, out)
    store8(out, 0)
    return out + 1


@inlined_part
def _put_simple(place, end, out):
    """Write a value that is not an array; returns its type, the place after it (0: it is left), and
    its end. The type DOCUMENT means that an ordinary document begins, whose brace is at the
    place."""
    byte = load8(place)
    if byte == QUOTE:
        place, stop = put_string(place + 1, end, out + 4)
        store8(stop, 0)
        store32(out, stop - out - 3)
        return np.int64(STRING), place, stop + 1
    if byte != _OPEN_BRACE:
        return _put_literal(place, end, out)
    name = skip_blanks(place + 1, end)
    if name + 1 < end and load8(name + 1) == _DOLLAR and load8(name) == QUOTE:
        kind, after, stop = put_special(name + 1, end, out)
        if kind:
            return kind, after, stop
    return np.int64(DOCUMENT), place, out


@part
def parse_text(place, end, out, out_end, names, mask, number):
    """Write the value of the text from `place` to `end`, its type byte first; returns its end, or
    PLAIN, NO_ROOM or MANY_NAMES.

    `names` has `mask + 1` places; each text has a `number` of its own there, from 1 on.
    """
    frames = _allocate_frames()
    depth, count = np.int64(0), np.int64(0)
    start, close, index = np.int64(0), np.int64(0), np.int64(0)
    kind_place = out
    out += 1
    while True:
        place = skip_blanks(place, end)
        if place >= end:
            return np.int64(PLAIN)
        if out + (end - place) + MARGIN > out_end:
            return np.int64(NO_ROOM)
        is_array = load8(place) == _OPEN_BRACKET
        kind = np.int64(ARRAY)
        if not is_array:
            kind, place, out = _put_simple(place, end, out)
            if place == 0:
                return np.int64(PLAIN)
        store8(kind_place, kind)
        opens = False
        if is_array or kind == DOCUMENT:
            if depth == MAX_DEPTH:
                return np.int64(PLAIN)
            frame = frames + _FRAME * depth
            store64(frame + _START, start)
            store64(frame + _CLOSE, close)
            store64(frame + _INDEX, index)
            depth += 1
            start, index = out, np.int64(0)
            close = np.int64(_CLOSE_BRACKET if is_array else _CLOSE_BRACE)
            out += 4
            place = skip_blanks(place + 1, end)
            opens = place >= end or load8(place) != close
        while not opens and depth:
            place = skip_blanks(place, end)
            byte = load8(place) if place < end else np.int64(0)
            place += 1
            if byte != close:
                if byte != COMMA:
                    return np.int64(PLAIN)
                break
            store8(out, 0)
            out += 1
            store32(start, out - start)
            depth -= 1
            frame = frames + _FRAME * depth
            start, close = load64(frame + _START), load64(frame + _CLOSE)
            index = load64(frame + _INDEX)
        if depth == 0:
            return out if skip_blanks(place, end) == end else np.int64(PLAIN)
        kind_place = out
        if close == _CLOSE_BRACKET:
            out = _put_index(index, out + 1)
        else:
            place = after_byte(place, end, QUOTE)
            if place == 0:
                return np.int64(PLAIN)
            name = place
            place, out = put_name(place, end, out + 1)
            length = out - kind_place - 2
            if place == 0:
                return np.int64(PLAIN)
            # A first name with escapes may be the name of a type.
            is_escaped = length != place - 1 - name
            if index == 0 and is_escaped and load8(kind_place + 1) == _DOLLAR:
                return np.int64(PLAIN)
            count += 1
            if 2 * count > mask:
                return np.int64(MANY_NAMES)
            if not _is_new_name(names, mask, number, start, kind_place + 1, length):
                return np.int64(PLAIN)
            place = after_byte(place, end, COLON)
            if place == 0:
                return np.int64(PLAIN)
        index += 1


@entry
def parse_texts(cells, count, values, out, out_end, names, mask, first):
    """Parse `count` texts: cells (kind, address, length). The cell of each value goes to `values`,
    its bytes to the memory between `out` and `out_end`; the length is PLAIN for a text that is left
    to plain Python. `first` is the number of the first text; see `parse_text`.

    Returns the number of parsed values: all, or `fault << 32 | number` if the next one has NO_ROOM
    or MANY_NAMES.
    """
    for i in range(count):
        cell = cells + CELL_BYTES * i
        place = load64(cell + 8)
        stop = parse_text(place, place + load64(cell + 16), out, out_end, names, mask, first + i)
        if stop in (NO_ROOM, MANY_NAMES):
            return stop << 32 | i
        value = values + CELL_BYTES * i
        store64(value, BINARY_CELL)
        store64(value + 8, out)
        if stop == PLAIN:
            store64(value + 16, PLAIN)
        else:
            store64(value + 16, stop - out)
            out = stop
    return np.int64(count)
