"""Texts of instants in logs, whole columns at a time: checked as matrices of characters, and
written in ISO 8601. Texts of uncommon forms are left to slower code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HEAD = 19
"""Length of a date and a time: `2026-01-02T03:04:05`."""
_DIGITS = np.array([0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15, 17, 18])
_ZERO, _NINE = ord("0"), ord("9")
_SIGNS = {4: "-", 7: "-", 13: ":", 16: ":"}
_MAX_DIGITS = 9
LAST_INSTANT = 253_402_300_799_999
"""Milliseconds since 1970 of the last millisecond of the year 9999."""
_TEXT = pa.large_string()


@dataclass(frozen=True)
class TimeTexts:
    """Texts of one form, each a date, a time, an optional fraction, and a tail.

    `data` (uint8) has the characters of all texts; text i is from `ends[i]` to `ends[i + 1]`.
    """

    data: np.ndarray
    ends: np.ndarray


def time_texts(array: pa.Array, between: str, tail: str) -> TimeTexts | None:
    """Parse texts (large_string or large_binary without nulls) of the form
    `2026-01-02{between}03:04:05.123{tail}`, whose fractions do not end with 0; None if a text has
    another form."""
    count = len(array)
    _, offsets, buffer = array.buffers()
    if count == 0 or buffer is None:
        return None
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + count + 1]
    data = np.frombuffer(buffer, np.uint8)[ends[0] : ends[-1]]
    ends = ends - ends[0]
    fraction = np.diff(ends) - HEAD - len(tail)
    if int(fraction.min()) < 0 or int(fraction.max()) > _MAX_DIGITS + 1 or (fraction == 1).any():
        return None
    head = data[ends[:-1, None] + np.arange(HEAD)]
    signs = {**_SIGNS, 10: between}
    sound = all((head[:, place] == ord(sign)).all() for place, sign in signs.items())
    sound = sound and _are_digits(head[:, _DIGITS])
    for place, character in enumerate(reversed(tail), 1):
        sound = sound and bool((data[ends[1:] - place] == ord(character)).all())
    for place in range(int(fraction.max()) if sound else 0):
        have = fraction > place
        characters = data[(ends[:-1] + HEAD + place)[have]]
        sound = sound and (
            _are_digits(characters) if place else bool((characters == ord(".")).all())
        )
    with_fraction = fraction > 0
    if not sound or (data[(ends[1:] - len(tail) - 1)[with_fraction]] == _ZERO).any():
        return None
    return TimeTexts(data, ends)


def _are_digits(characters: np.ndarray) -> bool:
    return bool(((characters >= _ZERO) & (characters <= _NINE)).all())


def in_iso(array: pa.Array) -> pa.Array | None:
    """Return texts `2026-01-02 03:04:05.123+00` (large_binary) as `2026-01-02T03:04:05.123Z`
    (large_string), nulls as nulls; None if a text has another form."""
    present = array.drop_null() if array.null_count else array
    texts = time_texts(present, " ", "+00")
    if texts is None:
        return None
    data = texts.data.copy()
    data[texts.ends[:-1] + 10] = ord("T")
    data[texts.ends[1:] - 3] = ord("Z")
    keep = np.ones(len(data), np.bool_)
    keep[texts.ends[1:] - 2] = keep[texts.ends[1:] - 1] = False
    offsets = texts.ends - 2 * np.arange(len(texts.ends))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data[keep])]
    return with_nulls_of(array, pa.Array.from_buffers(_TEXT, len(present), buffers))


def instants(milliseconds: pa.Array) -> pa.Array:
    """Return milliseconds since 1970 (int64) as texts `2026-01-02T03:04:05.678Z` (large_string);
    null for nulls, before 1970 and after LAST_INSTANT."""
    has_text = pc.and_(pc.greater_equal(milliseconds, 0), pc.less_equal(milliseconds, LAST_INSTANT))
    moments = pc.if_else(has_text, milliseconds, pa.scalar(None, pa.int64()))
    texts = pc.strftime(moments.cast(pa.timestamp("ms")), format="%Y-%m-%dT%H:%M:%SZ")
    return pc.cast(texts, _TEXT)


def with_nulls_of(array: pa.Array, values: pa.Array) -> pa.Array:
    """Return `values`, which has a value for each value of an array that is not null, with nulls
    between."""
    if not array.null_count:
        return values
    is_valid = np.asarray(array.is_valid())
    index = np.cumsum(is_valid) - 1
    return values.take(pa.array(index, mask=~is_valid))
