"""Sizes of BSON values; every length is checked."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    count_trailing_zeros,
    load8,
    load32,
    load32_signed,
    load64,
)
from headrace.connect.kernels.text import HIGH_BITS, wrapping_add
from headrace.documents.bson import (
    ARRAY,
    BAD_BOOLEAN,
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
    MAX_KEY,
    MIN_KEY,
    NOT_TERMINATED,
    NULL,
    OBJECT_ID,
    OLD_BINARY,
    REGEX,
    SMALLEST_DOCUMENT,
    STRING,
    SYMBOL,
    TIMESTAMP,
    UNDEFINED,
    UNKNOWN_KIND,
)

_LOW_BITS = 0x0101010101010101


@part
def name_end(place, last):
    """Return the zero byte that ends the name at `place`. `last` holds a zero byte, which is
    returned if the name has no other."""
    while place < last:
        word = load64(place)
        zeros = wrapping_add(word, -_LOW_BITS) & ~word & HIGH_BITS
        if zeros:
            return min(place + (count_trailing_zeros(zeros) >> 3), last)
        place += 8
    return last


@part
def _string_size(place, rest):
    """Bytes of a string with its length prefix, or a fault."""
    if rest < 5:
        return np.int64(BAD_LENGTH)
    length = load32_signed(place)
    if length < 1 or length > rest - 4:
        return np.int64(BAD_LENGTH)
    if load8(place + 3 + length) != 0:
        return np.int64(NOT_TERMINATED)
    return 4 + length


@part
def _document_size(place, rest):
    """Bytes of a document, or a fault; its elements are not checked."""
    if rest < SMALLEST_DOCUMENT:
        return np.int64(BAD_LENGTH)
    size = load32_signed(place)
    if size < SMALLEST_DOCUMENT or size > rest:
        return np.int64(BAD_LENGTH)
    if load8(place + size - 1) != 0:
        return np.int64(NOT_TERMINATED)
    return size


@part
def _rare_size(kind, place, rest):
    if kind == BINARY:
        if rest < 5:
            return np.int64(BAD_LENGTH)
        length = load32_signed(place)
        if length < 0 or length > rest - 5:
            return np.int64(BAD_LENGTH)
        if load8(place + 4) == OLD_BINARY and (
            length < 4 or load32_signed(place + 5) != length - 4
        ):
            return np.int64(BAD_LENGTH)
        return 5 + length
    if kind == REGEX:
        # `rest` ends before the zero byte of the enclosing document.
        pattern = name_end(place, place + rest)
        if pattern >= place + rest:
            return np.int64(NOT_TERMINATED)
        options = name_end(pattern + 1, place + rest)
        if options >= place + rest:
            return np.int64(NOT_TERMINATED)
        return options + 1 - place
    if kind == DB_POINTER:
        size = _string_size(place, rest - 12)
        return size + 12 if size >= 0 else size
    if kind == CODE_WITH_SCOPE:
        if rest < 4 or load32_signed(place) > rest:
            return np.int64(BAD_LENGTH)
        size = load32_signed(place)
        code = _string_size(place + 4, size - 4)
        if code < 0:
            return code
        scope = _document_size(place + 4 + code, size - 4 - code)
        if scope < 0:
            return scope
        return size if size == 4 + code + scope else np.int64(BAD_LENGTH)
    return np.int64(UNKNOWN_KIND)


@entry
def value_size(kind, place, rest):
    """Return the size in bytes of the value of type `kind` at `place`, or a fault if it is invalid
    or needs more than `rest` bytes. The contents of documents and arrays are not checked."""
    if kind in (STRING, CODE, SYMBOL):
        return _string_size(place, rest)
    size = np.int64(-1)
    if kind == INT32:
        size = np.int64(4)
    elif kind in (DOUBLE, DATE, INT64, TIMESTAMP):
        size = np.int64(8)
    elif kind in (DOCUMENT, ARRAY):
        return _document_size(place, rest)
    elif kind == OBJECT_ID:
        size = np.int64(12)
    elif kind == BOOLEAN:
        size = np.int64(1)
        if rest >= 1 and load8(place) > 1:
            return np.int64(BAD_BOOLEAN)
    elif kind in (NULL, UNDEFINED, MIN_KEY, MAX_KEY):
        size = np.int64(0)
    elif kind == DECIMAL128:
        size = np.int64(16)
    else:
        return _rare_size(kind, place, rest)
    return size if size <= rest else np.int64(BAD_LENGTH)


ID_NAME_SIZE = 4
"""Bytes of the name `_id` and of the zero byte after it."""
_ID_NAME = int.from_bytes(b"_id\0", "little")


@part
def id_element(document, size):
    """Return the address of the type byte of the first element `_id` of a document; 0 if it has no
    such element; or a fault. `size` is checked; the bytes after the element are not."""
    last = document + size - 1
    place = document + 4
    while place < last:
        kind = load8(place)
        end = name_end(place + 1, last)
        length = value_size(kind, end + 1, last - end - 1)
        if length < 0:
            return length
        if end - place == ID_NAME_SIZE and load32(place + 1) == _ID_NAME:
            return place
        place = end + 1 + length
    return np.int64(0)
