"""The compiled hash of an `_id` by the value that a key without type information shows.

A transform that replaces the Extended JSON of `_id` by its value loses its type: an ObjectId and
the text of its digits become the same key. Values that may look equal in such a key have the same
hash here; others usually have different ones. The rules on memory are those of
`headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.bytes_text import put_base64
from headrace.connect.kernels.equality import same_bytes
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    PADDING,
    load8,
    load32,
    load32_signed,
    load64,
    stack_memory,
    store64,
)
from headrace.connect.kernels.text import as_double, as_word, hash_bytes, mix, put_int
from headrace.documents.bson import (
    ARRAY,
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
    MAX_KEY,
    MIN_KEY,
    NULL,
    OBJECT_ID,
    OLD_BINARY,
    REGEX,
    STRING,
    SYMBOL,
    TIMESTAMP,
    UNDEFINED,
)
from headrace.documents.kernels.characters import put_characters
from headrace.documents.kernels.scalars import (
    MAX_ISO_MILLIS,
    MAX_SORTED_OPTIONS,
    put_decimal128,
    put_iso_date,
    put_library_double,
    put_object_id,
    put_sorted_options,
)
from headrace.documents.kernels.value_sizes import name_end, value_size

VALUES, TEXTS, NUMBERS = range(1, 4)
"""Forms of an `_id` in a key that is not its Extended JSON: a value of its own Connect type; a text
(a declared STRING); a number of a declared type."""

# Seconds are read with and without a sign; both are equal modulo this number of milliseconds.
_MILLIS = 1000 << 32
_PARTS = 0x50415254
"""Hashed instead of documents and arrays, and of values that may look like their texts."""
_MIN_KEY_TEXT, _MAX_KEY_TEXT = as_word(b"MinKey"), as_word(b"MaxKey")
_TRUE_TEXT, _FALSE_TEXT = as_word(b"true"), as_word(b"false")
_OPEN_BRACE, _OPEN_BRACKET = ord("{"), ord("[")
_ZERO, _NINE, _DASH, _POINT, _LARGE_E = map(ord, "09-.E")
_TWO_TO_63 = 2.0**63
_BEYOND = -(1 << 63)
"""Number for values outside 64 bits, and for values that are not numbers."""
_MAX_TENTH = ((1 << 63) - 1) // 10
_MAX_DIGIT = ((1 << 63) - 1) % 10
_allocate_stack = stack_memory(8 * MAX_DEPTH)
_allocate_options = stack_memory(MAX_SORTED_OPTIONS + PADDING)


@part
def _decimal_whole(place, out):
    """Return the whole part of a Decimal128; its text is written to `out`."""
    end = put_decimal128(place, out)
    is_negative = load8(out) == _DASH
    first = out + (1 if is_negative else 0)
    if not _ZERO <= load8(first) <= _NINE:
        return np.int64(_BEYOND)
    stop = first
    while stop < end and load8(stop) != _LARGE_E:
        stop += 1
    exponent = np.int64(0)
    if stop < end:
        digits = stop + 1
        sign = load8(digits)
        if not _ZERO <= sign <= _NINE:
            digits += 1
        for at in range(digits, end):
            exponent = 10 * exponent + load8(at) - _ZERO
        if sign == _DASH:
            exponent = -exponent
    point = first
    while point < stop and load8(point) != _POINT:
        point += 1
    whole = np.int64(0)
    at = first
    for _ in range(point - first + exponent):
        if at == point:
            at += 1
        digit = np.int64(0)
        if at < stop:
            digit = np.int64(load8(at) - _ZERO)
            at += 1
        elif whole == 0:
            break
        if whole > _MAX_TENTH or (whole == _MAX_TENTH and digit > _MAX_DIGIT):
            return np.int64(_BEYOND)
        whole = 10 * whole + digit
    return -whole if is_negative else whole


@part
def _number_hash(seed, kind, place, out):
    """Hash the whole part of a number, which is the same for equal numbers of all types."""
    whole = np.int64(_BEYOND)
    if kind == INT32:
        whole = np.int64(load32_signed(place))
    elif kind == INT64:
        whole = load64(place)
    elif kind == DOUBLE:
        value = as_double(load64(place))
        if -_TWO_TO_63 < value < _TWO_TO_63:
            whole = np.int64(value)
    elif kind == DECIMAL128:
        whole = _decimal_whole(place, out)
    return mix(seed, whole)


@part
def _text_end(kind, place, size, form, out):
    """Write the text of a scalar value to `out`; returns its end, or 0 if it has none."""
    if kind == OBJECT_ID:
        return put_object_id(place, out)
    if kind in (STRING, CODE, SYMBOL):
        end = put_characters(place + 4, size - 5, 0, out)
        # Documents and arrays also become texts, of Extended JSON.
        if form == TEXTS and end > out and load8(out) in (_OPEN_BRACE, _OPEN_BRACKET):
            return np.int64(0)
        return end
    if kind == INT32:
        return put_int(load32_signed(place), out)
    if kind == INT64:
        return put_int(load64(place), out)
    if kind == DOUBLE:
        return put_library_double(load64(place), out)
    if kind == DECIMAL128:
        return put_decimal128(place, out)
    if kind == BINARY:
        skipped = 4 if load8(place + 4) == OLD_BINARY else 0
        return put_base64(place + 5 + skipped, size - 5 - skipped, out)
    if kind == DATE:
        millis = load64(place)
        if 0 <= millis <= MAX_ISO_MILLIS:
            return put_iso_date(millis, out)
        return put_int(millis, out)
    if kind == BOOLEAN:
        is_true = load8(place) == 1
        store64(out, _TRUE_TEXT if is_true else _FALSE_TEXT)
        return out + (4 if is_true else 5)
    if kind in (MIN_KEY, MAX_KEY):
        store64(out, _MIN_KEY_TEXT if kind == MIN_KEY else _MAX_KEY_TEXT)
        return out + 6
    return np.int64(0)


@part
def _scalar_hash(seed, kind, place, size, form, out):
    """The hash of a scalar value."""
    if form == VALUES:
        if kind == INT32:
            return mix(seed, load32_signed(place) % _MILLIS)
        if kind in (INT64, DATE):
            return mix(seed, load64(place) % _MILLIS)
        if kind == TIMESTAMP:
            return mix(seed, load32(place + 4) * 1000 % _MILLIS)
    end = _text_end(kind, place, size, form, out)
    return mix(seed, _PARTS) if end == 0 else hash_bytes(seed, out, end - out)


@part
def _has_name_twice(place, last):
    """Whether a document, whose elements are from `place` to `last`, is invalid or has two fields
    of the same name, of which a struct has only the last one."""
    while place < last:
        name_last = name_end(place + 1, last)
        length = value_size(load8(place), name_last + 1, last - name_last - 1)
        if length < 0:
            return True
        following = name_last + 1 + length
        other = following
        while other < last:
            other_last = name_end(other + 1, last)
            if same_bytes(place + 1, name_last - place - 1, other + 1, other_last - other - 1):
                return True
            length = value_size(load8(other), other_last + 1, last - other_last - 1)
            if length < 0:
                return True
            other = other_last + 1 + length
        place = following
    return False


@part
def _value_hash(seed, kind, place, size, out):
    """The hash of a value in the form in which Connect shows it: that of its scalar values, one
    after the other. Nulls and field names are left out, because other transforms change them; so
    are arrays, whose documents get the fields of all their documents."""
    stack = _allocate_stack()
    depth = np.int64(0)
    last = place + size
    value = seed
    while True:
        inner = np.int64(0)
        if kind in (DOCUMENT, CODE_WITH_SCOPE):
            inner = place
            if kind == CODE_WITH_SCOPE:
                code_size = 4 + load32_signed(place + 4)
                value = _scalar_hash(value, CODE, place + 4, code_size, VALUES, out)
                inner = place + 4 + code_size
            if depth == MAX_DEPTH or _has_name_twice(inner + 4, place + size - 1):
                inner = np.int64(0)
        elif kind == REGEX:
            middle = name_end(place, place + size - 1)
            end = put_characters(place, middle - place, 0, out)
            value = hash_bytes(value, out, end - out)
            options, length = middle + 1, place + size - middle - 2
            if 1 < length <= MAX_SORTED_OPTIONS:
                options = _allocate_options()
                put_sorted_options(middle + 1, length, options)
            end = put_characters(options, length, 0, out)
            value = hash_bytes(value, out, end - out)
        elif kind == DB_POINTER:
            value = _scalar_hash(value, STRING, place, size - 12, VALUES, out)
            value = _scalar_hash(value, OBJECT_ID, place + size - 12, np.int64(12), VALUES, out)
        elif kind not in (ARRAY, NULL, UNDEFINED):
            value = _scalar_hash(value, kind, place, size, VALUES, out)
        if inner:
            stack[depth] = last
            depth += 1
            last = place + size - 1
            place = inner + 4
        else:
            place += size
        while depth and place == last:
            place = last + 1
            depth -= 1
            last = stack[depth]
        if depth == 0:
            return value
        kind = load8(place)
        place = name_end(place + 1, last) + 1
        size = value_size(kind, place, last - place)
        if size < 0:
            return seed


@entry
def id_hash(seed, address, length, form, out):
    """Hash an `_id`, a type byte and its value of `length` bytes together, in the form (VALUES,
    TEXTS or NUMBERS) that its key has. `out` is scratch memory: `length` times
    `headrace.documents.kernels.writer.GROWTH` bytes, and its SLACK."""
    if length < 1:
        return seed
    kind, place = load8(address), address + 1
    size = value_size(kind, place, length - 1)
    if size != length - 1:
        return seed
    if form == NUMBERS:
        return _number_hash(seed, kind, place, out)
    if form == VALUES:
        return _value_hash(seed, kind, place, size, out)
    if kind in (NULL, UNDEFINED):
        return seed
    return _scalar_hash(seed, kind, place, size, form, out)
