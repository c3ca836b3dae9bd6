"""Decoders of PostgreSQL's texts of characters, bytes and arrays to Connect values.

The contract is that of `headrace.relational.types.texts`. Sessions use `DateStyle=ISO`,
`TimeZone=UTC`, `bytea_output=hex` and `extra_float_digits` of 1 or more, so that headrace's common
decoders read the texts of other types.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headrace.relational.types import texts
from headrace.relational.types.texts import Decoder, refuse


def string(text: bytes) -> str:
    """Decode any text; the client encoding is UTF-8."""
    return texts.string(text, "Convert the database from SQL_ASCII to UTF8, or exclude the column.")


def bytea(text: bytes) -> bytes:
    r"""Decode the `\x…` form of bytea, in hexadecimal."""
    return texts.hexadecimal(
        text, "Set bytea_output=hex for the connector's role; the connector relies on it."
    )


@lru_cache
def _item(separator: bytes) -> re.Pattern[bytes]:
    """The pattern of an item of an array: quoted with backslash escapes, or bare up to a
    separator."""
    bare = rb'[^"{}\\%s]' % re.escape(separator)
    return re.compile(
        rb'"([^"\\]*(?:\\.[^"\\]*)*)"|(?!\s)(%s+(?:\\.%s*)*)' % (bare, bare), re.DOTALL
    )


_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_BOUNDS = re.compile(rb"(?:\[-?[0-9]{1,10}:-?[0-9]{1,10}\])+=")


def array(
    text: bytes, *, element: Decoder, separator: bytes = b",", nulls: bool = True
) -> list[object] | None:
    """Decode a one-dimensional array; None for one of more dimensions, which the schema cannot
    hold, for an element that its type cannot hold, and for null elements without `nulls`.

    Lower bounds other than 1 (`[0:1]={a,b}`) are not part of the value.
    """
    bounds = _BOUNDS.match(text)
    if bounds is not None:
        text = text[bounds.end() :]
    if text[:1] != b"{" or text[-1:] != b"}" or len(text) < 2:
        refuse("array")
    if text == b"{}":
        return []
    if text[1:2] == b"{":
        return None
    item_text = _item(separator)
    items: list[object] = []
    position, end = 1, len(text) - 1
    while True:
        item_match = item_text.match(text, position, end)
        if item_match is None:
            refuse("array")
        quoted, bare = item_match[1], item_match[2]
        if bare == b"NULL":
            if not nulls:
                return None
            items.append(None)
        else:
            item = element(_ESCAPE.sub(rb"\1", bare if quoted is None else quoted))
            if item is None:
                return None
            items.append(item)
        position = item_match.end()
        if position == end:
            return items
        if text[position : position + 1] != separator:
            refuse("array")
        position += 1
