"""Extended JSON read into BSON bytes: version 1 (strict) and version 2, as BSON's Java library
(`org.bson.json`) reads them."""

from __future__ import annotations

import base64
import datetime as dt
import json
import re
import struct
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from headrace.connect.java_numbers import parse_double
from headrace.documents.bson import MAX_DEPTH, OLD_BINARY, Kind
from headrace.errors import HeadraceError

Encoded = tuple[int, bytes]
"""A type, and the bytes of a value."""
_REFUSALS = (
    ValueError, TypeError, AttributeError, LookupError, OverflowError, RecursionError, struct.error,
)  # fmt: skip
"""Exceptions that `encoded` raises for a member of another type or size than its name requires."""
_INT32, _INT64, _DOUBLE = struct.Struct("<i"), struct.Struct("<q"), struct.Struct("<d")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_UUID_SUBTYPE = 4
_DECIMAL = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", re.ASCII)
_SPECIAL_DECIMALS = {"nan": 0x7C << 120, "infinity": 0x78 << 120, "inf": 0x78 << 120}
_DECIMAL_BIAS, _MAX_EXPONENT, _MAX_DIGITS = 6176, 6111, 34


def bson_of(text: str) -> bytes:
    """Return the value of a text of Extended JSON: its type byte and its bytes.

    Raises HeadraceError `documents.text_not_understood`.
    """
    try:
        kind, value = encoded(json.loads(text))
    except _REFUSALS as error:
        raise HeadraceError(
            "documents.text_not_understood",
            f"a text is not Extended JSON: {error}",
            "Look for records that were not written by the connector.",
        ) from None
    return bytes([kind]) + value


def encoded(value: Any, depth: int = 0) -> Encoded:
    """Return the BSON of a parsed JSON value. Raises one of `_REFUSALS`."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    match value:
        case None:
            return Kind.NULL, b""
        case bool():
            return Kind.BOOLEAN, bytes([value])
        case int():
            return _whole(value)
        case float():
            return Kind.DOUBLE, _DOUBLE.pack(value)
        case str():
            return Kind.STRING, _string(value)
        case list():
            members = {str(at): element for at, element in enumerate(value)}
            return Kind.ARRAY, _document(members, depth)
        case dict():
            first = next(iter(value), "")
            if first == "$code":
                return _code(value, depth)
            special = _SPECIAL.get(first)
            extended = None if special is None else special(value)
            return (Kind.DOCUMENT, _document(value, depth)) if extended is None else extended
    raise TypeError(f"a {type(value).__name__} is in it")


def _whole(value: int) -> Encoded:
    if -(1 << 31) <= value < 1 << 31:
        return Kind.INT32, _INT32.pack(value)
    return Kind.INT64, _INT64.pack(value)


_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def _utf8(text: str) -> bytes:
    """Encode a text in UTF-8; half of a surrogate pair becomes U+FFFD."""
    return (text if text.isascii() else _HALF_CHARACTER.sub("\ufffd", text)).encode()


def _string(text: str) -> bytes:
    raw = _utf8(text)
    return _INT32.pack(len(raw) + 1) + raw + b"\0"


def _name(text: str) -> bytes:
    raw = _utf8(text)
    if b"\0" in raw:
        raise ValueError("a name has a zero character")
    return raw + b"\0"


def _document(members: Mapping[str, Any], depth: int) -> bytes:
    parts = []
    for name, member in members.items():
        kind, value = encoded(member, depth + 1)
        parts += [bytes([kind]), _name(name), value]
    body = b"".join(parts)
    return _INT32.pack(len(body) + 5) + body + b"\0"


def _object_id(value: Mapping[str, Any]) -> Encoded:
    return Kind.OBJECT_ID, _identifier(value["$oid"])


def _identifier(text: str) -> bytes:
    raw = bytes.fromhex(text)
    if len(raw) != 12:
        raise ValueError("an ObjectId has not 24 digits")
    return raw


def _date(value: Mapping[str, Any]) -> Encoded:
    at = value["$date"]
    if isinstance(at, dict):
        at = _integer(at["$numberLong"])
    elif isinstance(at, str):
        moment = dt.datetime.fromisoformat(at)
        if moment.tzinfo is None:
            raise ValueError(f"the date {at} has no time zone")
        at = (moment.astimezone(dt.UTC) - _EPOCH) // dt.timedelta(milliseconds=1)
    return Kind.DATE, _INT64.pack(at)


def _binary(value: Mapping[str, Any]) -> Encoded:
    binary = value["$binary"]
    if isinstance(binary, dict):
        text, subtype = binary["base64"], binary["subType"]
    else:
        text, subtype = binary, value["$type"]
    number = subtype if isinstance(subtype, int) else int(subtype, 16)
    raw = base64.b64decode(text, validate=True)
    if number == OLD_BINARY:
        raw = _INT32.pack(len(raw)) + raw
    return Kind.BINARY, _INT32.pack(len(raw)) + bytes([number]) + raw


def _regex_of(pattern: str, options: str) -> Encoded:
    return Kind.REGEX, _name(pattern) + _name("".join(sorted(options)))


def _old_regex(value: Mapping[str, Any]) -> Encoded | None:
    """A regular expression in the old form; None for a document with a field of this name."""
    if not isinstance(value["$regex"], str) or "$options" not in value:
        return None
    return _regex_of(value["$regex"], value["$options"])


def _regex(value: Mapping[str, Any]) -> Encoded:
    regex = value["$regularExpression"]
    return _regex_of(regex["pattern"], regex["options"])


def _code(value: Mapping[str, Any], depth: int) -> Encoded:
    code = _string(value["$code"])
    if "$scope" not in value:
        return Kind.CODE, code
    body = code + _document(value["$scope"], depth)
    return Kind.CODE_WITH_SCOPE, _INT32.pack(len(body) + 4) + body


def _timestamp(value: Mapping[str, Any]) -> Encoded:
    timestamp = value["$timestamp"]
    return Kind.TIMESTAMP, struct.pack("<II", timestamp["i"], timestamp["t"])


def _pointer(value: Mapping[str, Any]) -> Encoded:
    pointer = value["$dbPointer"]
    return Kind.DB_POINTER, _string(pointer["$ref"]) + _identifier(pointer["$id"]["$oid"])


def _uuid(value: Mapping[str, Any]) -> Encoded:
    raw = uuid.UUID(value["$uuid"]).bytes
    return Kind.BINARY, _INT32.pack(len(raw)) + bytes([_UUID_SUBTYPE]) + raw


_INTEGER = re.compile("[+-]?[0-9]+")


def _integer(number: int | str) -> int:
    """Return a whole number. Raises ValueError for texts that Java does not parse, such as
    `1_0`."""
    if isinstance(number, str) and not _INTEGER.fullmatch(number):
        raise ValueError(f"{number[:40]!r} is not a whole number")
    return int(number)


def _number(number: float | str) -> float:
    """Return a double. Raises ValueError for texts that Java does not parse."""
    return parse_double(number) if isinstance(number, str) else float(number)


def _decimal(value: Mapping[str, Any]) -> Encoded:
    return Kind.DECIMAL128, decimal128(value["$numberDecimal"])


def decimal128(text: str) -> bytes:
    """Return the Decimal128 of a number's text. Raises ValueError for one that does not fit."""
    unsigned = text.lstrip("+-").lower()
    sign = text.startswith("-") << 127
    if unsigned in _SPECIAL_DECIMALS:
        bits = _SPECIAL_DECIMALS[unsigned] | (sign if unsigned != "nan" else 0)
        return bits.to_bytes(16, "little")
    match = _DECIMAL.fullmatch(text)
    digits = "" if match is None else (match[2] or "") + (match[3] or "")
    if match is None or not digits:
        raise ValueError(f"{text!r} is not a decimal")
    coefficient, exponent = int(digits), int(match[4] or 0) - len(match[3] or "")
    if coefficient == 0:
        exponent = min(max(exponent, -_DECIMAL_BIAS), _MAX_EXPONENT)
    while exponent > _MAX_EXPONENT and coefficient < 10**_MAX_DIGITS:
        coefficient, exponent = coefficient * 10, exponent - 1
    while coefficient % 10 == 0 and (exponent < -_DECIMAL_BIAS or coefficient >= 10**_MAX_DIGITS):
        coefficient, exponent = coefficient // 10, exponent + 1
    if coefficient >= 10**_MAX_DIGITS or not -_DECIMAL_BIAS <= exponent <= _MAX_EXPONENT:
        raise ValueError(f"{text!r} does not fit a decimal of 128 bits")
    return (sign | (exponent + _DECIMAL_BIAS) << 113 | coefficient).to_bytes(16, "little")


_SPECIAL: dict[str, Callable[[Mapping[str, Any]], Encoded | None]] = {
    "$oid": _object_id,
    "$date": _date,
    "$binary": _binary,
    "$regex": _old_regex,
    "$regularExpression": _regex,
    "$timestamp": _timestamp,
    "$dbPointer": _pointer,
    "$uuid": _uuid,
    "$numberDecimal": _decimal,
    "$numberInt": lambda value: (Kind.INT32, _INT32.pack(_integer(value["$numberInt"]))),
    "$numberLong": lambda value: (Kind.INT64, _INT64.pack(_integer(value["$numberLong"]))),
    "$numberDouble": lambda value: (Kind.DOUBLE, _DOUBLE.pack(_number(value["$numberDouble"]))),
    "$symbol": lambda value: (Kind.SYMBOL, _string(value["$symbol"])),
    "$undefined": lambda _value: (Kind.UNDEFINED, b""),
    "$minKey": lambda _value: (Kind.MIN_KEY, b""),
    "$maxKey": lambda _value: (Kind.MAX_KEY, b""),
}
