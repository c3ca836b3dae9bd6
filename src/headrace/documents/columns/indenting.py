"""Compact texts of JSON indented as BSON's Java library does it, many at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_QUOTE, _BACKSLASH, _COMMA, _NEWLINE, _SPACE = map(ord, '"\\,\n ')
_STEP = 2
"""Spaces of a level."""
_OPENS, _CLOSES, _SEPARATES = 1, 2, 3
_ROLES = np.zeros(256, np.uint8)
_ROLES[[ord("{"), ord("[")]] = _OPENS
_ROLES[[ord("}"), ord("]")]] = _CLOSES
_ROLES[_COMMA] = _SEPARATES


def _is_escaped(text: np.ndarray) -> np.ndarray:
    """Which bytes stand behind an odd number of backslashes (bool)."""
    place = np.arange(len(text))
    last_other = np.maximum.accumulate(np.where(text != _BACKSLASH, place, -1))
    before = np.concatenate(([-1], last_other[:-1]))
    return np.asarray((place - 1 - before) & 1 == 1)


def indented(texts: pa.StringArray) -> pa.LargeStringArray:
    """Compact texts of JSON objects and arrays, none of them null, with a new line behind each
    opening bracket and comma and before each closing bracket, two spaces a level; empty brackets
    stay together."""
    count = len(texts)
    _, offsets, held = texts.buffers()
    if count == 0 or held is None:
        return texts.cast(pa.large_string())
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + count + 1]
    text = np.frombuffer(held, np.uint8)[ends[0] : ends[-1]]
    quotes = text == _QUOTE
    if (text == _BACKSLASH).any():
        quotes &= ~_is_escaped(text)
    # Texts are whole, so quotes and brackets are in pairs from text to text.
    roles = np.where(np.cumsum(quotes) & 1 == 1, 0, _ROLES[text])
    place = np.flatnonzero(roles)
    role = roles[place]
    depth = np.cumsum((role == _OPENS).astype(np.int64) - (role == _CLOSES))
    # A closing bracket directly behind its opening one: nothing is between them.
    is_empty = np.zeros(len(place), np.bool_)
    is_empty[1:] = (role[1:] == _CLOSES) & (role[:-1] == _OPENS) & (place[1:] == place[:-1] + 1)
    opens_empty = np.concatenate((is_empty[1:], [False]))
    line = 1 + _STEP * depth
    before = np.where((role == _CLOSES) & ~is_empty, line, 0)
    behind = np.where((role == _SEPARATES) | ((role == _OPENS) & ~opens_empty), line, 0)
    added = np.zeros(len(text) + 1, np.int64)
    added[place] += before
    added[place + 1] += behind
    target = np.arange(len(text) + 1) + np.cumsum(added)
    out = np.full(int(target[-1]), _SPACE, np.uint8)
    out[target[:-1]] = text
    out[(target[place] - before)[before > 0]] = _NEWLINE
    out[(target[place] + 1)[behind > 0]] = _NEWLINE
    buffers = [None, pa.py_buffer(target[ends - ends[0]]), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)
