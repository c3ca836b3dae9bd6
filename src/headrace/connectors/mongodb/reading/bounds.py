"""Bounds of chunks: values of `_id`, as bytes, and as texts in offsets and notifications.

A value is its type byte and its bytes, as in the cell of an image. Its text is canonical Extended
JSON version 2 if that reads back as the same bytes, else their base64.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import bson
from bson import json_util
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError
from bson.json_util import CANONICAL_JSON_OPTIONS
from bson.raw_bson import RawBSONDocument

from headrace.connectors.mongodb.extended_json import read_extended_json
from headrace.documents.bson import Kind
from headrace.errors import HeadraceError

MAX_KEY = bytes([Kind.MAX_KEY])
"""The largest possible value of `_id`."""

_BYTES = "$bson"
_NAME = b"_id\0"
# RawBSONDocument reads values that are shown or counted; dates may be of any year.
_RAW: CodecOptions[Any] = CodecOptions(
    document_class=RawBSONDocument, datetime_conversion=DatetimeConversion.DATETIME_MS
)
_EXACT: CodecOptions[Any] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS)


def bound_text(value: bytes) -> str:
    """The text of an `_id`."""
    try:
        document = bson.decode(_document(value), _EXACT)
        text = json_util.dumps(document["_id"], json_options=CANONICAL_JSON_OPTIONS)
        if bound_value(text) == value:
            return text
    except (BSONError, ValueError, TypeError, OverflowError, HeadraceError):
        pass
    return json_util.dumps({_BYTES: base64.b64encode(value).decode()})


def bound_value(text: str) -> bytes:
    """The reverse of `bound_text`. Raises HeadraceError("mongodb.broken_bound")."""
    try:
        value = read_extended_json(text, CANONICAL_JSON_OPTIONS)
        if isinstance(value, dict) and value.keys() == {_BYTES}:
            return base64.b64decode(value[_BYTES], validate=True)
        raw = bson.encode({"_id": value}, codec_options=_EXACT)
    except (BSONError, ValueError, TypeError, OverflowError) as error:
        raise HeadraceError(
            "mongodb.broken_bound",
            f"The checkpoint has a bound of a chunk that is not a value of _id: {text[:80]} "
            f"({error})",
            "Use the checkpoint as headrace wrote it, or start with a new one.",
        ) from None
    return raw[4:5] + raw[5 + len(_NAME) : -1]


def shown_bound(text: str) -> str:
    """The text of a bound for people: for a string, an integer or an ObjectId the value alone, as
    Java prints it; for other types Extended JSON."""
    match json.loads(text):
        case str(value):
            return value
        case {"$numberInt": str(value)} | {"$numberLong": str(value)} | {"$oid": str(value)}:
            return value
    return text


def with_id(value: bytes) -> RawBSONDocument:
    """The document `{_id: value}`."""
    return RawBSONDocument(_document(value), _RAW)


def literal(value: bytes) -> RawBSONDocument:
    """The expression `{$literal: value}`."""
    return RawBSONDocument(_member(b"$literal\0", value), _RAW)


def equals(value: bytes) -> RawBSONDocument:
    """The condition `{$eq: value}`."""
    return RawBSONDocument(_member(b"$eq\0", value), _RAW)


def _document(value: bytes) -> bytes:
    return _member(_NAME, value)


def _member(name: bytes, value: bytes) -> bytes:
    size = 4 + len(name) + len(value) + 1
    return size.to_bytes(4, "little") + value[:1] + name + value[1:] + b"\0"
