"""BSON encoded in plain Python, also the types that pymongo no longer encodes."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import bson
from bson.code import Code
from bson.dbref import DBRef
from bson.regex import Regex


@dataclass(frozen=True)
class Undefined:
    """The undefined value."""


@dataclass(frozen=True)
class Symbol:
    """A symbol."""

    name: str


@dataclass(frozen=True)
class Pointer:
    """A DBPointer."""

    namespace: str
    id: bson.ObjectId


EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def millis(value: object) -> int:
    """Milliseconds since 1970 of a date."""
    if isinstance(value, bson.DatetimeMS):
        return int(value)
    assert isinstance(value, dt.datetime)
    return (value.replace(tzinfo=dt.UTC) - EPOCH) // dt.timedelta(milliseconds=1)


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<i", len(raw) + 1) + raw + b"\0"


def _document(members: Mapping[str, object]) -> bytes:
    parts = []
    for name, member in members.items():
        cell = encode_value(member)
        parts.append(cell[:1] + name.encode() + b"\0" + cell[1:])
    body = b"".join(parts)
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def encode_value(value: object) -> bytes:
    """The type byte and the bytes of a value."""
    match value:
        case bool():
            return b"\x08" + bytes([value])
        case float():
            return b"\x01" + struct.pack("<d", value)
        case Code() if value.scope is not None:
            body = _string(str(value)) + _document(value.scope)
            return b"\x0f" + struct.pack("<i", len(body) + 4) + body
        case Code():
            return b"\x0d" + _string(str(value))
        case str():
            return b"\x02" + _string(value)
        case Symbol():
            return b"\x0e" + _string(value.name)
        case Mapping():
            return b"\x03" + _document(value)
        case DBRef():
            return b"\x03" + _document(value.as_doc())
        case list():
            return b"\x04" + _document({str(i): item for i, item in enumerate(value)})
        case uuid.UUID():
            return b"\x05" + struct.pack("<iB", 16, 4) + value.bytes
        case bytes():
            subtype = value.subtype if isinstance(value, bson.Binary) else 0
            raw = struct.pack("<i", len(value)) + value if subtype == 2 else bytes(value)
            return b"\x05" + struct.pack("<iB", len(raw), subtype) + raw
        case Undefined():
            return b"\x06"
        case bson.ObjectId():
            return b"\x07" + value.binary
        case dt.datetime() | bson.DatetimeMS():
            return b"\x09" + struct.pack("<q", millis(value))
        case None:
            return b"\x0a"
        case Regex():
            return b"\x0b" + f"{value.pattern}\0{options(value)}\0".encode()
        case Pointer():
            return b"\x0c" + _string(value.namespace) + value.id.binary
        case bson.Int64():
            return b"\x12" + struct.pack("<q", value)
        case int():
            return b"\x10" + struct.pack("<i", value)
        case bson.Timestamp():
            return b"\x11" + struct.pack("<II", value.inc, value.time)
        case bson.Decimal128():
            return b"\x13" + value.bid
        case bson.MinKey():
            return b"\xff"
        case bson.MaxKey():
            return b"\x7f"
    raise TypeError(value)


def encode(document: Mapping[str, object]) -> bytes:
    """The bytes of a document."""
    return encode_value(document)[1:]


def strange(count: int) -> bytes:
    """A document whose text is larger than others: `count` elements without a name."""
    body = b"\x06\0" * count
    return struct.pack("<i", len(body) + 5) + body + b"\0"


_OPTIONS = {2: "i", 4: "l", 8: "m", 16: "s", 32: "u", 64: "x"}


def options(regex: Regex) -> str:
    """The letters of a regular expression's flags, sorted."""
    return "".join(letter for flag, letter in _OPTIONS.items() if regex.flags & flag)
