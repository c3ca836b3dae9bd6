"""BSON bytes: types of elements, and errors of values.

A document is an int32 length, its elements and a zero byte; an element is a type byte, a name that
ends with a zero byte, and a value (bsonspec.org, version 1.1). A single value, such as an `_id`, is
its type byte and its bytes. The rules on memory are those of `headrace.connect.kernels.memory`.
"""

from __future__ import annotations

from enum import IntEnum

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


MAX_DEPTH = 256
"""Limit for documents and arrays inside each other. Servers store 180 levels; their parameter
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

# Faults: the reasons why a kernel stopped; negative, so that none of them is an address.
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
    TOO_DEEP: f"documents are nested deeper than {MAX_DEPTH} levels",
    TRAILING_BYTES: "there are bytes after the value",
}


def broken(fault: int, place: str = "a value") -> HeadraceError:
    """The error for BSON that a kernel rejects; `fault` is the reason, `place` names the value."""
    return HeadraceError(
        "documents.value_not_understood",
        f"{place} is not valid BSON: {FAULTS[fault]}",
        "Find the document with the database's validate command and write it again; "
        "event.processing.failure.handling.mode=warn leaves out records with such documents.",
    )
