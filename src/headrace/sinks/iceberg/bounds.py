"""Least and greatest values of columns as manifests store them: Iceberg's single-value
serialization.

Texts are cut to 16 characters, bytes to 16 bytes. A cut upper bound is increased to the next
greater value; if no such value exists, the column has no upper bound. A bound that was written
before its column's type was widened has the length of the former type: `decode_bound` reads both.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Context, Decimal
from typing import Any

LONGEST_BOUND = 16
"""The most characters of a text, or bytes of a binary value."""
_EPOCH = dt.datetime.fromisoformat("1970-01-01")
_DAY = dt.date(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_DIGITS = Context(prec=80)
_SURROGATES = range(0xD800, 0xE000)
_LAST_CHARACTER = 0x10FFFF


def encode_bound(value: Any, type_name: str, *, upper: bool = False) -> bytes | None:
    """Return the bytes of a bound of a column of this Iceberg type; None for NaN, and for an upper
    bound that was cut and cannot be increased."""
    match type_name:
        case "boolean":
            return b"\1" if value else b"\0"
        case "int":
            return struct.pack("<i", value)
        case "long":
            return struct.pack("<q", value)
        case "float":
            return None if math.isnan(value) else struct.pack("<f", value)
        case "double":
            return None if math.isnan(value) else struct.pack("<d", value)
        case "date":
            return struct.pack("<i", (value - _DAY).days)
        case "timestamp" | "timestamptz":
            local = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            return struct.pack("<q", (local - _EPOCH) // _MICROSECOND)
        case "string":
            bound = value if len(value) <= LONGEST_BOUND else _cut_text(value, upper=upper)
            return None if bound is None else bound.encode()
        case "binary":
            return value if len(value) <= LONGEST_BOUND else _cut_bytes(value, upper=upper)
    scale = int(type_name.rpartition(",")[2].rstrip(")"))
    unscaled = int(value.scaleb(scale, _DIGITS))
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return unscaled.to_bytes(size, "big", signed=True)


def decode_bound(content: bytes, type_name: str) -> Any:
    """Return the value of a bound; None if Python cannot represent it."""
    match type_name:
        case "boolean":
            return content != b"\0"
        case "int" | "long":
            return int.from_bytes(content, "little", signed=True)
        case "float" | "double":
            return struct.unpack("<f" if len(content) == 4 else "<d", content)[0]
        case "string":
            return content.decode()
        case "binary":
            return content
    if type_name.startswith("decimal"):
        scale = int(type_name.rpartition(",")[2].rstrip(")"))
        return Decimal(int.from_bytes(content, "big", signed=True)).scaleb(-scale, _DIGITS)
    number = int.from_bytes(content, "little", signed=True)
    try:
        if type_name == "date":
            return _DAY + dt.timedelta(days=number)
        moment = _EPOCH + number * _MICROSECOND
    except OverflowError:
        return None
    return moment.replace(tzinfo=dt.UTC) if type_name == "timestamptz" else moment


def _cut_text(text: str, *, upper: bool) -> str | None:
    if not upper:
        return text[:LONGEST_BOUND]
    for place in range(LONGEST_BOUND - 1, -1, -1):
        following = ord(text[place]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST_CHARACTER:
            return text[:place] + chr(following)
    return None


def _cut_bytes(content: bytes, *, upper: bool) -> bytes | None:
    if not upper:
        return content[:LONGEST_BOUND]
    prefix = content[:LONGEST_BOUND].rstrip(b"\xff")
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else None
