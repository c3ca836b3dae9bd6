"""The compiled passes that convert columns of BSON values to a type: they find fields and elements,
and convert scalars that the type holds exactly.

A column of values is a table of cells: the type byte (NOTHING: no value), and address and length of
the value after it. The result is a table of cells as in `headrace.connect.images`, with two
additional kinds. The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import BINARY as BINARY_CELL
from headrace.connect.images import CELL_BYTES, TEXT, has_value
from headrace.connect.images import NULL as NULL_CELL
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.java_floats import put_double
from headrace.connect.kernels.json_scan import are_equal
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load32,
    load32_signed,
    load64,
    store8,
    store16,
    store32,
    store64,
)
from headrace.connect.kernels.text import (
    as_double,
    as_word,
    double_bits,
    parse_digits,
    put_int,
)
from headrace.documents.bson import (
    ARRAY,
    BINARY,
    BOOLEAN,
    CODE,
    DATE,
    DECIMAL128,
    DOCUMENT,
    DOUBLE,
    INT32,
    INT64,
    NULL,
    OBJECT_ID,
    OLD_BINARY,
    STRING,
    SYMBOL,
    TIMESTAMP,
    TRAILING_BYTES,
    UNDEFINED,
)
from headrace.documents.kernels.scalars import (
    MAX_ISO_MILLIS,
    put_decimal128,
    put_iso_date,
    put_library_double,
    put_object_id,
)
from headrace.documents.kernels.value_sizes import name_end, value_size

NOTHING = 0
"""Replaces the type byte if there is no value."""
CONFLICT = 1
"""Kind of a resulting cell: the type does not hold the value exactly."""
LEFT = 2
"""Kind of a resulting cell: Python converts the value."""

(
    TO_BOOLEAN,
    TO_INTEGER,
    TO_FLOAT,
    TO_DOUBLE,
    TO_DECIMAL,
    TO_TEXT,
    TO_BYTES,
    TO_MILLIS,
    TO_DAYS,
    TO_VALUE,
    TO_STRUCT,
    TO_MAP,
    TO_ARRAY,
) = range(13)
"""Target types of `convert`. The parameter of TO_INTEGER is its size in bytes, those of TO_DECIMAL
are digits and scale; TO_VALUE copies a type byte and its value, TO_MAP only those of documents and
TO_ARRAY only those of arrays; TO_STRUCT only shows which values are documents."""

SPARE_PER_VALUE = 192
"""The most bytes written for a value, not counting copies of it."""

_MILLIS_PER_DAY = 86_400_000
_MAX_MILLIS = ((1 << 63) - 1) // 1000
_MAX_DAY = (1 << 31) - 1
_EXACT = 1 << 53
_TWO_TO_63 = 2.0**63
_TRUE, _FALSE = as_word(b"true"), as_word(b"false")
_ZERO, _NINE, _DASH, _POINT = ord("0"), ord("9"), ord("-"), ord(".")
_SHORT_DIGITS = 18


@entry
def open_values(cells, count, out):
    """Write the column of values for cells that hold a type byte and a value each."""
    for i in range(count):
        cell, target = cells + CELL_BYTES * i, out + CELL_BYTES * i
        kind, length = np.int64(NOTHING), load64(cell + 16)
        if has_value(load64(cell)) and length > 0:
            kind = load8(load64(cell + 8))
            if kind in (NULL, UNDEFINED):
                kind = np.int64(NOTHING)
        store64(target, kind)
        store64(target + 8, load64(cell + 8) + 1)
        store64(target + 16, length - 1)
    return np.int64(count)


@entry
def find_fields(cells, count, names, name_count, out, unknown):
    """Find the fields of documents by name (address and length each): writes a column of values for
    each name; the last field of a name counts. `unknown` gets the number of other fields of each
    document (int64).

    Returns `count`, or `fault << 32 | number` for an invalid document.
    """
    for i in range(count):
        for n in range(name_count):
            store64(out + CELL_BYTES * (n * count + i), NOTHING)
        cell = cells + CELL_BYTES * i
        unknown[i] = 0
        if load64(cell) != DOCUMENT:
            continue
        place, size = load64(cell + 8), load64(cell + 16)
        sound = value_size(DOCUMENT, place, size)
        if sound != size:
            return (sound if sound < 0 else np.int64(TRAILING_BYTES)) << 32 | i
        last = place + size - 1
        place += 4
        expected = np.int64(0)
        others = np.int64(0)
        while place < last:
            kind = load8(place)
            name = place + 1
            end = name_end(name, last)
            place = end + 1
            size = value_size(kind, place, last - place)
            if size < 0:
                return size << 32 | i
            is_known = False
            for step in range(name_count):
                n = (expected + step) % name_count
                entry = names + 16 * n
                if load64(entry + 8) == end - name and are_equal(load64(entry), name, end - name):
                    target = out + CELL_BYTES * (n * count + i)
                    store64(target, NOTHING if kind in (NULL, UNDEFINED) else kind)
                    store64(target + 8, place)
                    store64(target + 16, size)
                    expected = np.int64((n + 1) % name_count)
                    is_known = True
                    break
            if not is_known:
                others += 1
            place += size
        unknown[i] = others
    return np.int64(count)


@entry
def find_elements(cells, count, container, ends, out, names):
    """Find the elements of documents or arrays (`container`), one after the other. `ends` (int64,
    one more than there are values) gets the end of each value's elements. If `out` is not 0, it
    gets their column, and `names` the cells of their names.

    Returns their number, or `fault << 32 | number` for an invalid value.
    """
    total = np.int64(0)
    store64(ends, 0)
    for i in range(count):
        cell = cells + CELL_BYTES * i
        if load64(cell) == container:
            place, size = load64(cell + 8), load64(cell + 16)
            sound = value_size(container, place, size)
            if sound != size:
                return (sound if sound < 0 else np.int64(TRAILING_BYTES)) << 32 | i
            last = place + size - 1
            place += 4
            while place < last:
                kind = load8(place)
                name = place + 1
                end = name_end(name, last)
                place = end + 1
                size = value_size(kind, place, last - place)
                if size < 0:
                    return size << 32 | i
                if out:
                    target = out + CELL_BYTES * total
                    store64(target, NOTHING if kind in (NULL, UNDEFINED) else kind)
                    store64(target + 8, place)
                    store64(target + 16, size)
                    target = names + CELL_BYTES * total
                    store64(target, TEXT)
                    store64(target + 8, name)
                    store64(target + 16, end - name)
                total += 1
                place += size
        ends[i + 1] = total
    return total


@part
def _put_bytes(place, length, target):
    store64(target, BINARY_CELL)
    store64(target + 8, place)
    store64(target + 16, length)


@part
def _put_integer(value, size, target, spare):
    """Write an integer of `size` bytes as a cell; returns the end of the memory."""
    bits = np.int64(8 * size - 1)
    if size < 8 and not -(np.int64(1) << bits) <= value < np.int64(1) << bits:
        store64(target, CONFLICT)
        return spare
    # Integers of one byte are in cells of two.
    cell_size = np.int64(2) if size == 1 else np.int64(size)
    _put_bytes(spare, cell_size, target)
    if cell_size == 8:
        store64(spare, value)
    elif cell_size == 4:
        store32(spare, value)
    else:
        store16(spare, value)
    return spare + cell_size


@part
def _put_decimal(place, end, digits, scale, target, out):
    """Write the text of a number with `digits` digits, `scale` of them after the point, at `out`;
    returns its end. LEFT: the text has an exponent, or is not a number."""
    is_negative = load8(place) == _DASH
    if is_negative:
        place += 1
    point = place
    while point < end and load8(point) != _POINT:
        if not _ZERO <= load8(point) <= _NINE:
            store64(target, LEFT)
            return out
        point += 1
    for digit in range(point + 1, end):
        if not _ZERO <= load8(digit) <= _NINE:
            store64(target, LEFT)
            return out
    while point < end and load8(end - 1) == _ZERO:
        end -= 1
    while place < point and load8(place) == _ZERO:
        place += 1
    fraction = max(end - point - 1, np.int64(0))
    if fraction > scale or point - place > digits - scale:
        store64(target, CONFLICT)
        return out
    store64(target, TEXT)
    store64(target + 8, out)
    begin = out
    if is_negative and (fraction or place < point):
        store8(out, _DASH)
        out += 1
    if place == point:
        store8(out, _ZERO)
        out += 1
    out = copy(place, point - place, out)
    if scale:
        store8(out, _POINT)
        out = copy(point + 1, fraction, out + 1)
        for _ in range(scale - fraction):
            store8(out, _ZERO)
            out += 1
    store64(target + 16, out - begin)
    return out


@part
def _put_number_text(kind, place, out):
    """Write the text of a number; returns its end."""
    if kind == INT32:
        return put_int(load32_signed(place), out)
    if kind == INT64:
        return put_int(load64(place), out)
    if kind == DOUBLE:
        return put_double(load64(place), out)
    return put_decimal128(place, out)


@part
def _to_integer(kind, place, size, target, spare):
    if kind == INT32:
        return _put_integer(load32_signed(place), size, target, spare)
    if kind == INT64:
        return _put_integer(load64(place), size, target, spare)
    if kind == DOUBLE:
        value = as_double(load64(place))
        if -_TWO_TO_63 <= value < _TWO_TO_63:
            whole = np.int64(value)
            if np.float64(whole) == value:
                return _put_integer(whole, size, target, spare)
    elif kind == DECIMAL128:
        end = put_decimal128(place, spare)
        text = spare + 64
        end = _put_decimal(spare, end, _SHORT_DIGITS, 0, target, text)
        if load64(target) == TEXT:
            is_negative = np.int64(load8(text) == _DASH)
            value = parse_digits(text + is_negative, end - text - is_negative)
            return _put_integer(-value if is_negative else value, size, target, spare)
        store64(target, LEFT)
        return spare
    store64(target, CONFLICT)
    return spare


@part
def _to_double(kind, place, target, spare):
    if kind == DOUBLE:
        value = as_double(load64(place))
    elif kind == INT32:
        value = np.float64(load32_signed(place))
    elif kind == INT64:
        whole = load64(place)
        value = np.float64(whole)
        if not -_EXACT <= whole <= _EXACT and (value >= _TWO_TO_63 or np.int64(value) != whole):
            store64(target, CONFLICT)
            return spare
    else:
        store64(target, LEFT if kind == DECIMAL128 else CONFLICT)
        return spare
    store64(spare, double_bits(value))
    _put_bytes(spare, 8, target)
    return spare + 8


@part
def _to_text(kind, place, size, target, spare):
    start = spare
    if kind in (STRING, CODE, SYMBOL):
        store64(target, TEXT)
        store64(target + 8, place + 4)
        store64(target + 16, size - 5)
        return spare
    if kind == OBJECT_ID:
        spare = put_object_id(place, spare)
    elif kind in (INT32, INT64, DECIMAL128):
        spare = _put_number_text(kind, place, spare)
    elif kind == DOUBLE:
        spare = put_library_double(load64(place), spare)
    elif kind == BOOLEAN:
        is_true = load8(place) == 1
        store64(spare, _TRUE if is_true else _FALSE)
        spare += 4 if is_true else 5
    elif kind == DATE:
        millis = load64(place)
        if 0 <= millis <= MAX_ISO_MILLIS:
            spare = put_iso_date(millis, spare)
        else:
            spare = put_int(millis, spare)
    else:
        store64(target, LEFT)
        return spare
    store64(target, TEXT)
    store64(target + 8, start)
    store64(target + 16, spare - start)
    return spare


@part
def _to_moment(kind, place, is_day, target, spare):
    """Convert a date, or a timestamp whose increment is 0, to milliseconds or days since
    1970-01-01."""
    if kind == DATE:
        millis = load64(place)
    elif kind == TIMESTAMP and load32(place) == 0:
        millis = load32(place + 4) * 1000
    else:
        store64(target, CONFLICT)
        return spare
    if not is_day:
        if not -_MAX_MILLIS <= millis <= _MAX_MILLIS:
            store64(target, CONFLICT)
            return spare
        return _put_integer(millis, 8, target, spare)
    days = millis // _MILLIS_PER_DAY
    if days * _MILLIS_PER_DAY != millis or not -_MAX_DAY <= days <= _MAX_DAY:
        store64(target, CONFLICT)
        return spare
    return _put_integer(days, 4, target, spare)


@part
def _to_copy(kind, place, size, target, spare):
    """Copy a type byte and its value."""
    store8(spare, kind)
    copy(place, size, spare + 1)
    _put_bytes(spare, size + 1, target)
    return spare + 1 + size


@part
def _convert(kind, place, size, to, digits, scale, target, spare):
    if to == TO_TEXT:
        return _to_text(kind, place, size, target, spare)
    if to == TO_INTEGER:
        return _to_integer(kind, place, digits, target, spare)
    if to == TO_DOUBLE:
        return _to_double(kind, place, target, spare)
    if to == TO_DECIMAL:
        if kind in (INT32, INT64, DOUBLE, DECIMAL128):
            end = _put_number_text(kind, place, spare)
            return _put_decimal(spare, end, digits, scale, target, spare + 64)
    elif to in (TO_MILLIS, TO_DAYS):
        return _to_moment(kind, place, to == TO_DAYS, target, spare)
    elif to == TO_BOOLEAN:
        if kind == BOOLEAN:
            _put_bytes(place, 1, target)
            return spare
    elif to == TO_BYTES:
        if kind == BINARY:
            skipped = 4 if load8(place + 4) == OLD_BINARY else 0
            _put_bytes(place + 5 + skipped, size - 5 - skipped, target)
            return spare
    elif to == TO_STRUCT:
        if kind == DOCUMENT:
            _put_bytes(place, size, target)
            return spare
    elif (
        to == TO_VALUE or (to == TO_MAP and kind == DOCUMENT) or (to == TO_ARRAY and kind == ARRAY)
    ):
        return _to_copy(kind, place, size, target, spare)
    store64(target, LEFT if to == TO_FLOAT else CONFLICT)
    return spare


@entry
def convert(cells, count, to, digits, scale, out, spare):
    """Convert `count` values; returns the number of resulting cells that are CONFLICT or LEFT."""
    others = np.int64(0)
    for i in range(count):
        cell, target = cells + CELL_BYTES * i, out + CELL_BYTES * i
        kind = load64(cell)
        if kind == NOTHING:
            store64(target, NULL_CELL)
            continue
        spare = _convert(
            kind, load64(cell + 8), load64(cell + 16), to, digits, scale, target, spare
        )
        converted_kind = load64(target)
        if converted_kind in (CONFLICT, LEFT):
            others += 1
    return others
