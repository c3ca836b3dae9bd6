"""The dialects of Extended JSON that Debezium writes, and their constant texts for the kernel.

Version 1 is the format of drivers before 2017 (strict mode), version 2 the current specification
(relaxed and canonical). The layouts are those of `org.bson.json.JsonWriterSettings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from headrace.connect.encoding import Encoding


class Dialect(IntEnum):
    """Version and layout of Extended JSON."""

    STRICT = 0
    """Version 1, strict, compact: `before` and `after` by default."""
    RELAXED = 1
    """Version 2, relaxed, compact: keys."""
    RELAXED_SPACED = 2
    """Version 2, relaxed, with a space after commas: `updatedFields` by default."""
    CANONICAL = 3
    """Version 2, canonical, compact."""
    MANUAL = 4
    """Version 1, strict, ` : ` after names and a space after commas, int64 as bare numbers, as
    Debezium's manual prints keys."""


DIALECTS = {
    Encoding.EXTENDED_JSON_LEGACY: Dialect.STRICT,
    Encoding.EXTENDED_JSON_RELAXED: Dialect.RELAXED,
    Encoding.EXTENDED_JSON_RELAXED_SPACED: Dialect.RELAXED_SPACED,
    Encoding.EXTENDED_JSON_CANONICAL: Dialect.CANONICAL,
    Encoding.EXTENDED_JSON_MANUAL: Dialect.MANUAL,
}
"""The dialect of each encoding of cells."""


@dataclass(frozen=True)
class _Style:
    """Properties of a dialect that determine its constant texts."""

    version: int
    canonical: bool = False
    bare_longs: bool = False
    colon: str = ": "
    comma: str = ","


_STYLES = {
    Dialect.STRICT: _Style(1),
    Dialect.RELAXED: _Style(2),
    Dialect.RELAXED_SPACED: _Style(2, comma=", "),
    Dialect.CANONICAL: _Style(2, canonical=True),
    Dialect.MANUAL: _Style(1, bare_longs=True, colon=" : ", comma=", "),
}

# The constant texts. `'` is a placeholder for a quote, `:` for the colon and `,` for the comma of
# the style.
_OF_ALL = {
    "QUOTE": "'",
    "NAME_END": "':",
    "COMMA": ",",
    "OBJECT_ID": "{'$oid':'",
    "DATE_NUMBER": "{'$date':{'$numberLong':'",
    "DATE_NUMBER_END": "'}}",
    "CODE": "{'$code':'",
    "SCOPE": "','$scope':",
    "SYMBOL": "{'$symbol':'",
    "TIMESTAMP": "{'$timestamp':{'t':",
    "TIMESTAMP_MIDDLE": ",'i':",
    "DECIMAL": "{'$numberDecimal':'",
    "TEXT_END": "'}",
    "MIN_KEY": "{'$minKey':1}",
    "MAX_KEY": "{'$maxKey':1}",
    "UNDEFINED": "{'$undefined':true}",
}
_OF_VERSION_1 = {
    "INT32": "",
    "INT32_END": "",
    "INT64": "{'$numberLong':'",
    "INT64_END": "'}",
    "DOUBLE": "",
    "DOUBLE_END": "",
    "SPECIAL_DOUBLE": "",
    "SPECIAL_DOUBLE_END": "",
    "DATE": "{'$date':",
    "DATE_END": "}",
    "BINARY": "{'$binary':'",
    "BINARY_MIDDLE": "','$type':'",
    "BINARY_END": "'}",
    "REGEX": "{'$regex':'",
    "REGEX_MIDDLE": "','$options':'",
    "REGEX_END": "'}",
    "DB_POINTER": "{'$ref':'",
    "DB_POINTER_MIDDLE": "','$id':{'$oid':'",
    "DB_POINTER_END": "'}}",
}
_OF_VERSION_2 = _OF_VERSION_1 | {
    "INT64": "",
    "INT64_END": "",
    "SPECIAL_DOUBLE": "{'$numberDouble':'",
    "SPECIAL_DOUBLE_END": "'}",
    "DATE": "{'$date':'",
    "DATE_END": "'}",
    "BINARY": "{'$binary':{'base64':'",
    "BINARY_MIDDLE": "','subType':'",
    "BINARY_END": "'}}",
    "REGEX": "{'$regularExpression':{'pattern':'",
    "REGEX_MIDDLE": "','options':'",
    "REGEX_END": "'}}",
}
_OF_CANONICAL = _OF_VERSION_2 | {
    "INT32": "{'$numberInt':'",
    "INT32_END": "'}",
    "INT64": "{'$numberLong':'",
    "INT64_END": "'}",
    "DOUBLE": "{'$numberDouble':'",
    "DOUBLE_END": "'}",
    "DB_POINTER": "{'$dbPointer':{'$ref':'",
    "DB_POINTER_END": "'}}}",
}

_BARE_LONGS = {"INT64": "", "INT64_END": ""}

_NAMES = [*_OF_ALL, *_OF_VERSION_1]

FRAGMENT_BYTES = 64
"""Bytes of a constant text in the table: its length (int64), and space for the text."""
_MAX_TEXT = FRAGMENT_BYTES - 16  # the kernel copies whole 16 bytes
STYLE_BYTES = FRAGMENT_BYTES * len(_NAMES)


def fragment_offset(name: str) -> int:
    """Return the offset of a constant text in its style's part of the table."""
    return FRAGMENT_BYTES * _NAMES.index(name)


def fragment(name: str, dialect: Dialect, *, escaped: bool = False) -> bytes:
    """Return a constant text; `escaped`: in the form that it has inside a JSON string."""
    style = _STYLES[dialect]
    texts = _OF_VERSION_1 if style.version == 1 else _OF_VERSION_2
    if style.bare_longs:
        texts = texts | _BARE_LONGS
    text = (_OF_ALL | (_OF_CANONICAL if style.canonical else texts))[name]
    text = text.replace(":", "\0").replace(",", style.comma).replace("\0", style.colon)
    return text.replace("'", '\\"' if escaped else '"').encode()


def _table() -> np.ndarray:
    """The constant texts by dialect, then unescaped and escaped."""
    parts = []
    for dialect in Dialect:
        for escaped in (False, True):
            for name in _NAMES:
                text = fragment(name, dialect, escaped=escaped)
                assert len(text) <= _MAX_TEXT, text
                parts += [len(text).to_bytes(8, "little"), text.ljust(FRAGMENT_BYTES - 8, b"\0")]
    return np.frombuffer(b"".join(parts), np.int64)


FRAGMENTS = _table()
