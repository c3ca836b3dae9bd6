"""Kernel that reads JSON in the form of Kafka Connect's converter into cells.

Rare cases are left to Python: the kernel returns -1 for the whole part, also if the text is not
JSON or does not fit its schema. The rules on memory are those of `headrace.connect.kernels.memory`;
a text is read up to its end, and never beyond its padding.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import BINARY, CELL_BYTES, NULL, TEXT
from headrace.connect.kernels.float_texts import float_bits
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.json_scan import (
    BACKSLASH,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    OPEN_OBJECT,
    QUOTE,
    are_equal,
    canonical_value,
    digits_end,
    hexadecimal_unit,
    is_word,
    plain_end,
    skip_space,
    skip_string,
    skip_value,
)
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load64,
    stack_memory,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.kernels.text import as_word, parse_digits, put_int
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
    NAME,
    NAME_LENGTH,
    PARAMETER,
    STRING,
    STRUCT,
    TEXT_OF_JSON,
)

NUMBER_BYTES = 96
"""Space for a number of each column: binary, or the text of a decimal."""
_MAX_DEPTH = 48
_FRAME_BYTES = 16
_frames = stack_memory(_MAX_DEPTH * _FRAME_BYTES)
_DASH, _POINT, _ZERO, _LARGE_E, _PAD, _LETTER_U = map(ord, "-.0E=u")
_TRUE, _ALSE, _NULL_WORD = as_word(b"true"), as_word(b"alse"), as_word(b"null")
_NAN, _INFINITY = as_word(b'NaN"'), as_word(b"Infinity")
_BITS_OF_NAN = {32: 0x7FC00000, 64: 0x7FF8000000000000}
_NAN_32, _NAN_64 = _BITS_OF_NAN[32], _BITS_OF_NAN[64]
_INFINITE_32, _INFINITE_64 = 0x7F800000, 0x7FF0000000000000
_SIGN_32, _SIGN_64 = 0x80000000, -(1 << 63)
_FAILED = np.int64(-1)
_MAX_DIGITS = 18

# The six bits of each character of base64; 64 for others.
_SEXTETS = np.full(256, 64, np.int64)
for _value, _character in enumerate(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
):
    _SEXTETS[_character] = _value

_ESCAPES = np.full(256, -1, np.int64)
for _letter, _meant in zip(b'btnfr"\\/', b'\b\t\n\f\r"\\/', strict=True):
    _ESCAPES[_letter] = _meant


@part
def put_cell(cell, kind, address, length):
    """Write a split cell."""
    store64(cell, kind)
    store64(cell + 8, address)
    store64(cell + 16, length)


@part
def _put_point(point, out):
    """Write a code point in UTF-8, in 1 to 4 bytes; returns its end."""
    if point < 0x80:
        store8(out, point)
        return out + 1
    if point < 0x800:
        store8(out, 0xC0 | point >> 6)
        store8(out + 1, 0x80 | point & 63)
        return out + 2
    if point < 0x10000:
        store8(out, 0xE0 | point >> 12)
        store8(out + 1, 0x80 | (point >> 6) & 63)
        store8(out + 2, 0x80 | point & 63)
        return out + 3
    store8(out, 0xF0 | point >> 18)
    store8(out + 1, 0x80 | (point >> 12) & 63)
    store8(out + 2, 0x80 | (point >> 6) & 63)
    store8(out + 3, 0x80 | point & 63)
    return out + 4


@part
def _unescaped(place, end, out):
    """Write the text of a string whose rest begins at `place`; returns the address after its
    closing quote, and the end of the text."""
    while True:
        stop = plain_end(place, end)
        if stop < 0:
            return _FAILED, out
        out = copy(place, stop - place, out)
        place = stop
        byte = load8(place)
        if byte == QUOTE:
            return place + 1, out
        if byte != BACKSLASH or place + 1 >= end:
            return _FAILED, out
        kind = load8(place + 1)
        if kind != _LETTER_U:
            meant = _ESCAPES[kind]
            if meant < 0:
                return _FAILED, out
            store8(out, meant)
            place, out = place + 2, out + 1
            continue
        if place + 6 > end:
            return _FAILED, out
        point = hexadecimal_unit(place + 2)
        place += 6
        if point < 0 or 0xDC00 <= point <= 0xDFFF:
            return _FAILED, out
        if 0xD800 <= point <= 0xDBFF:
            if place + 6 > end or load8(place) != BACKSLASH or load8(place + 1) != _LETTER_U:
                return _FAILED, out
            low = hexadecimal_unit(place + 2)
            if low < 0xDC00 or low > 0xDFFF:
                return _FAILED, out
            point = 0x10000 + ((point - 0xD800) << 10 | low - 0xDC00)
            place += 6
        out = _put_point(point, out)


@part
def _string(place, end, cell, spare):
    """Read a string whose opening quote is before `place`; returns the address after it, and the
    rest of `spare`."""
    stop = plain_end(place, end)
    if stop < 0:
        return stop, spare
    if load8(stop) == QUOTE:
        put_cell(cell, TEXT, place, stop - place)
        return stop + 1, spare
    stop, out = _unescaped(place, end, spare)
    put_cell(cell, TEXT, spare, out - spare)
    return stop, out


@part
def _base64(place, end, out):
    """Decode base64 to `out`; returns the address after the closing quote, and the end of the
    bytes. Escapes are not supported."""
    while place + 4 <= end and load8(place) != QUOTE:
        last = load8(place + 3)
        bits = _SEXTETS[load8(place)] << 18 | _SEXTETS[load8(place + 1)] << 12
        third, fourth = _SEXTETS[load8(place + 2)], _SEXTETS[last]
        if last == _PAD:
            fourth = np.int64(0)
            if load8(place + 2) == _PAD:
                third = np.int64(0)
        bits |= third << 6 | fourth
        wrong = _SEXTETS[load8(place)] | _SEXTETS[load8(place + 1)] | third | fourth
        if wrong & 64:
            return _FAILED, out
        store8(out, bits >> 16)
        store8(out + 1, bits >> 8)
        store8(out + 2, bits)
        place += 4
        out += 3
        if last == _PAD:
            out -= 2 if load8(place - 2) == _PAD else 1
            break
    if place >= end or load8(place) != QUOTE:
        return _FAILED, out
    return place + 1, out


@part
def put_decimal(address, length, scale, out):
    """Write the text of a decimal of at most 8 bytes, big-endian, with `scale` digits after its
    point; returns its end."""
    number = np.int64(0)
    for i in range(length):
        number = number << 8 | load8(address + i)
    unused = 64 - 8 * length
    number = number << unused >> unused
    if number < 0:
        store8(out, _DASH)
        out += 1
        number = -number
    end = put_int(number, out)
    if scale == 0:
        return end
    # At least one digit before the point.
    missing = scale + 1 - (end - out)
    if missing > 0:
        for place in range(end - 1, out - 1, -1):
            store8(place + missing, load8(place))
        for place in range(out, out + missing):
            store8(place, _ZERO)
        end += missing
    for place in range(end - 1, end - scale - 1, -1):
        store8(place + 1, load8(place))
    store8(end - scale, _POINT)
    return end + 1


_SMALLEST = np.iinfo(np.int64).min
_MAX_DECIMAL_BYTES = 8


@part
def put_decimal_cell(cell, address, length, scale, number):
    """Write a decimal's cell from its bytes, its text in `number`; returns whether the kernel
    supports it."""
    if length < 1 or length > _MAX_DECIMAL_BYTES:
        return False
    if length == _MAX_DECIMAL_BYTES and load8(address) == 0x80:
        return False  # may be the smallest integer, which has no opposite
    put_cell(cell, TEXT, number, put_decimal(address, length, scale, number) - number)
    return True


@part
def _decimal(place, end, cell, scale, number, spare):
    """Read a decimal in base64, or as a number; returns the address after it."""
    if load8(place) == QUOTE:
        stop, out = _base64(place + 1, end, spare)
        if stop < 0 or not put_decimal_cell(cell, spare, out - spare, scale, number):
            return _FAILED
        return stop
    stop = place + 1 if load8(place) == _DASH else place
    stop = digits_end(stop, end)
    if stop < end and load8(stop) == _POINT:
        stop = digits_end(stop + 1, end)
        if load8(stop - 1) == _POINT:
            return _FAILED
    if stop >= end or load8(stop) | 32 == 101 or stop - place < 1 or load8(stop - 1) == _DASH:
        return _FAILED
    put_cell(cell, TEXT, place, stop - place)
    return stop


@part
def _integer(place, end, cell, size, number):
    """Read an integer of `size` bytes that fits its cell; returns the address after it."""
    negative = load8(place) == _DASH
    if negative:
        place += 1
    stop = digits_end(place, end)
    count = stop - place
    if count < 1 or count > _MAX_DIGITS or (count > 1 and load8(place) == _ZERO):
        return _FAILED
    if stop < end and (load8(stop) == _POINT or load8(stop) | 32 == 101):
        return _FAILED
    value = parse_digits(place, count)
    if negative:
        value = -value
    return stop if put_integer(cell, value, size, number) else _FAILED


@part
def put_integer(cell, value, size, number):
    """Write an integer of `size` bytes in the form of its cell; returns whether it fits."""
    if size < 8:
        most = np.int64(1) << (8 * size - 1)
        if value < -most or value >= most:
            return False
    if size == 8:
        store64(number, value)
    elif size == 4:
        store32(number, value)
    else:  # INT8 has the cells of INT16
        store16(number, value)
        size = np.int64(2)
    put_cell(cell, BINARY, number, size)
    return True


@part
def _put_float(cell, bits, width, number):
    if width == 64:
        store64(number, bits)
    else:
        store32(number, bits)
    put_cell(cell, BINARY, number, width // 8)


@part
def _float(place, end, cell, width, number):
    """Read a number, or the text of a value that is not a JSON number; returns the address after
    it."""
    if load8(place) == QUOTE:
        place += 1
        if place + 4 <= end and load64(place) & 0xFFFFFFFF == _NAN:
            _put_float(cell, _NAN_64 if width == 64 else _NAN_32, width, number)
            return place + 4
        negative = load8(place) == _DASH
        if negative:
            place += 1
        if place + 9 > end or load64(place) != _INFINITY or load8(place + 8) != QUOTE:
            return _FAILED
        bits = _INFINITE_64 if width == 64 else _INFINITE_32
        if negative:
            bits |= _SIGN_64 if width == 64 else _SIGN_32
        _put_float(cell, bits, width, number)
        return place + 9
    stop = place
    while stop < end:
        byte = load8(stop)
        is_digit = _ZERO <= byte <= _ZERO + 9
        if not is_digit and byte not in (_DASH, _POINT, 101, _LARGE_E, 43):  # e, +
            break
        stop += 1
    first = load8(place + 1) if load8(place) == _DASH else load8(place)
    if stop == place or first < _ZERO or first > _ZERO + 9:
        return _FAILED
    bits = float_bits(place, stop - place, width)
    if bits == -1:
        return _FAILED
    _put_float(cell, bits, width, number)
    return stop


@part
def _scalar(field, place, end, cell, number, spare, booleans):
    """Read a value of a field that is not a struct; returns the address after it, and the rest of
    `spare`."""
    kind = load64(field + KIND)
    byte = load8(place)
    if kind == STRING:
        if byte != QUOTE:
            return _FAILED, spare
        return _string(place + 1, end, cell, spare)
    if kind == INTEGER:
        return _integer(place, end, cell, load64(field + PARAMETER), number), spare
    if kind == BOOLEAN:
        if byte == 116 and is_word(place, end, _TRUE, 4):
            put_cell(cell, BINARY, booleans + 1, 1)
            return place + 4, spare
        if byte == 102 and is_word(place + 1, end, _ALSE, 4):
            put_cell(cell, BINARY, booleans, 1)
            return place + 5, spare
        return _FAILED, spare
    if kind == FLOAT:
        return _float(place, end, cell, load64(field + PARAMETER), number), spare
    if kind == DECIMAL_BYTES:
        return _decimal(place, end, cell, load64(field + PARAMETER), number, spare), spare
    if kind == BYTES:
        if byte != QUOTE:
            return _FAILED, spare
        stop, out = _base64(place + 1, end, spare)
        put_cell(cell, BINARY, spare, out - spare)
        return stop, out
    stop = canonical_value(place, end) if kind == TEXT_OF_JSON else skip_value(place, end)
    put_cell(cell, TEXT, place, stop - place)
    return stop, spare


@part
def _member(field, expected, name, length):
    """Return the member of a struct with this name, searched from `expected` on; 0 if the struct
    has no such member."""
    first, count = load64(field + FIRST), load64(field + COUNT)
    for i in range(count):
        number = expected + i
        if number >= count:
            number -= count
        member = first + FIELD_BYTES * number
        if load64(member + NAME_LENGTH) == length and are_equal(
            load64(member + NAME), name, length
        ):
            return member
    return np.int64(0)


@part
def parse_json(field, place, end, cells, numbers, spare, booleans):
    """Fill the cells of a part with the value at `place`, which ends at `end`.

    `cells` are those of the whole image, initially all null; `numbers` has NUMBER_BYTES for each of
    them, `spare` as many bytes as the text. Returns the rest of `spare`, or -1.
    """
    frames, depth = _frames(), 0
    place = skip_space(place, end)
    while True:
        # A value of `field`.
        if place >= end:
            return _FAILED
        column = load64(field + COLUMN)
        cell = cells + CELL_BYTES * column
        if column >= 0 and load64(cell) != NULL:
            return _FAILED  # the second member with this name
        opened = False
        if load8(place) == 110:
            if not is_word(place, end, _NULL_WORD, 4):
                return _FAILED
            place += 4
        elif load64(field + KIND) == STRUCT:
            if load8(place) != OPEN_OBJECT or depth == _MAX_DEPTH:
                return _FAILED
            if column >= 0:
                put_cell(cell, BINARY, booleans + 1, 1)
            store64(frames + _FRAME_BYTES * depth, field)
            store64(frames + _FRAME_BYTES * depth + 8, 0)
            depth += 1
            place = skip_space(place + 1, end)
            opened = True
        else:
            place, spare = _scalar(
                field, place, end, cell, numbers + NUMBER_BYTES * column, spare, booleans
            )
            if place < 0:
                return _FAILED
        # The characters after a value, until the next value.
        while True:
            if not opened:
                place = skip_space(place, end)
                if depth == 0:
                    return spare if place == end else _FAILED
            if place >= end:
                return _FAILED
            byte = load8(place)
            if byte == CLOSE_OBJECT:
                depth -= 1
                place += 1
                opened = False
                continue
            if not opened:
                if byte != COMMA:
                    return _FAILED
                place = skip_space(place + 1, end)
            opened = False
            if place >= end or load8(place) != QUOTE:
                return _FAILED
            name = place + 1
            stop = skip_string(name, end)
            if stop < 0:
                return _FAILED
            place = skip_space(stop, end)
            if place >= end or load8(place) != COLON:
                return _FAILED
            place = skip_space(place + 1, end)
            frame = frames + _FRAME_BYTES * (depth - 1)
            parent = load64(frame)
            field = _member(parent, load64(frame + 8), name, stop - 1 - name)
            if field:
                number = (field - load64(parent + FIRST)) // FIELD_BYTES
                store64(frame + 8, number + 1)
                break
            place = skip_value(place, end)
            if place < 0:
                return _FAILED
