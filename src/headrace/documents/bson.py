"""BSON bytes: types of elements, and kernels that find values, every length checked.

A document is an int32 length, its elements and a zero byte; an element is a type byte, a name that
a zero byte ends, and a value (bsonspec.org, version 1.1). A value by itself, such as an `_id`, is
its type byte and its bytes. The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    PADDING,
    address_of,
    count_trailing_zeros,
    load8,
    load32,
    load32_signed,
    load64,
)
from headrace.connect.kernels.text import HIGH_BITS, wrapping_add
from headrace.errors import HeadraceError


class Kind(IntEnum):
    """The type byte of an element."""

    DOUBLE = 0x01
    STRING = 0x02
    DOCUMENT = 0x03
    ARRAY = 0x04
    BINARY = 0x05
    UNDEFINED = 0x06
    OBJECT_ID = 0x07
    BOOLEAN = 0x08
    DATE = 0x09
    NULL = 0x0A
    REGEX = 0x0B
    DB_POINTER = 0x0C
    CODE = 0x0D
    SYMBOL = 0x0E
    CODE_WITH_SCOPE = 0x0F
    INT32 = 0x10
    TIMESTAMP = 0x11
    INT64 = 0x12
    DECIMAL128 = 0x13
    MIN_KEY = 0xFF
    MAX_KEY = 0x7F


MOST_DEPTH = 256
"""Documents and arrays inside of each other. Servers store 180 levels; their parameter
`maxBSONDepth` allows 250 at most."""

SMALLEST_DOCUMENT = 5
"""Bytes of an empty document: its length and a zero byte."""

OLD_BINARY = 2
"""The subtype of binary data that repeats its length before its bytes."""

DOUBLE, STRING, DOCUMENT = int(Kind.DOUBLE), int(Kind.STRING), int(Kind.DOCUMENT)
ARRAY, BINARY, UNDEFINED = int(Kind.ARRAY), int(Kind.BINARY), int(Kind.UNDEFINED)
OBJECT_ID, BOOLEAN, DATE = int(Kind.OBJECT_ID), int(Kind.BOOLEAN), int(Kind.DATE)
NULL, REGEX, DB_POINTER = int(Kind.NULL), int(Kind.REGEX), int(Kind.DB_POINTER)
CODE, SYMBOL, CODE_WITH_SCOPE = int(Kind.CODE), int(Kind.SYMBOL), int(Kind.CODE_WITH_SCOPE)
INT32, TIMESTAMP, INT64 = int(Kind.INT32), int(Kind.TIMESTAMP), int(Kind.INT64)
DECIMAL128, MIN_KEY, MAX_KEY = int(Kind.DECIMAL128), int(Kind.MIN_KEY), int(Kind.MAX_KEY)

# Why a kernel stopped; -1 and below, so that none of them is an address.
UNKNOWN_KIND = -1
BAD_LENGTH = -2
NOT_TERMINATED = -3
BAD_BOOLEAN = -4
TOO_DEEP = -5
TRAILING_BYTES = -6
NO_ROOM = -7

FAULTS = {
    UNKNOWN_KIND: "an element has a type that BSON does not have",
    BAD_LENGTH: "a length reaches beyond the bytes around it",
    NOT_TERMINATED: "a string, name or document does not end in a zero byte",
    BAD_BOOLEAN: "a boolean is neither 0 nor 1",
    TOO_DEEP: f"documents are nested deeper than {MOST_DEPTH} levels",
    TRAILING_BYTES: "there are bytes behind the value",
}

_LOW_BITS = 0x0101010101010101


@part
def name_end(place, last):
    """The zero byte that ends the name at `place`. `last` holds a zero byte, which is the answer
    where the name has no other."""
    while place < last:
        word = load64(place)
        zeros = wrapping_add(word, -_LOW_BITS) & ~word & HIGH_BITS
        if zeros:
            return min(place + (count_trailing_zeros(zeros) >> 3), last)
        place += 8
    return last


@part
def _string_size(place, rest):
    """Bytes of a string with its length, or a fault."""
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
    """Bytes of a document, or a fault; its elements are not looked at."""
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
        # `rest` ends before the zero byte of the document around it.
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
    """Bytes of the value of type `kind` at `place`, or a fault when it is broken or needs more
    than `rest` bytes. What documents and arrays hold is not looked at."""
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
"""Bytes of the name `_id` and of the zero byte behind it."""
_ID_NAME = int.from_bytes(b"_id\0", "little")


@part
def id_element(document, size):
    """Where the first element `_id` of a document begins, its type byte; 0: there is none; or a
    fault. `size` is checked; what lies behind the element is not looked at."""
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


def broken(fault: int, place: str = "a value") -> HeadraceError:
    """The error for BSON that a kernel refuses; `fault` says why, `place` where it is."""
    return HeadraceError(
        "documents.value_not_understood",
        f"{place} is no valid BSON: {FAULTS[fault]}",
        "Find the document with the database's validate command and write it anew; "
        "event.processing.failure.handling.mode=warn leaves such records out.",
    )


def elements(document: bytes) -> Iterator[tuple[int, str, bytes]]:
    """Type byte, name and value bytes of each element of a document or array, which may be the
    beginning of `document` alone. Raises HeadraceError `documents.value_not_understood`."""
    source = np.frombuffer(document + bytes(PADDING), np.uint8)
    start = address_of(source)
    size = int(value_size(DOCUMENT, start, len(document)))
    place = 4
    while size >= 0 and place < size - 1:
        kind = document[place]
        end = document.index(0, place + 1)
        length = int(value_size(kind, start + end + 1, size - 2 - end))
        if length < 0:
            raise broken(length)
        name = document[place + 1 : end].decode(errors="replace")
        place = end + 1 + length
        yield kind, name, document[end + 1 : place]
    if size < 0:
        raise broken(size)
