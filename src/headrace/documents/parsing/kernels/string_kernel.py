"""Compiled parser of blanks, quotes and strings of JSON.

A result of 0 instead of an address means that the text has another form: plain Python has to read
or reject it. Strings never become longer. The rules on memory are those of
`headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import inlined_part, part
from headrace.connect.kernels.memory import (
    copy16_plain_mask,
    count_trailing_zeros,
    load8,
    load64,
    store8,
    store32,
)
from headrace.connect.kernels.text import as_word
from headrace.documents.kernels.characters import is_tail, wide_point
from headrace.documents.kernels.value_sizes import name_end

QUOTE, COLON, COMMA = map(ord, '":,')
_BACKSLASH, _SPACE, _TAB, _NEWLINE, _RETURN = map(ord, "\\ \t\n\r")
_SMALL_U, _DELETE, _REPLACEMENT = ord("u"), 127, 0xFFFD


def _by_byte(values: dict[int, int], otherwise: int) -> np.ndarray:
    return np.array([values.get(byte, otherwise) for byte in range(256)], np.int16)


HEXADECIMAL_VALUES = _by_byte({ord(f"{i:x}"): i for i in range(16)}
                              | {ord(f"{i:X}"): i for i in range(16)}, -1)  # fmt: skip
"""The value of a hexadecimal digit; -1 for other bytes."""
_ESCAPED = _by_byte({ord(a): ord(b) for a, b in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True)}, 0)

Token = tuple[int, int, int, int, int, int, int]
"""Constant bytes in the form in which the kernel compares them: three words, a mask for each, and
their number."""


def token(text: str) -> Token:
    """Return a token of up to 24 bytes."""
    raw = text.encode()
    assert len(raw) <= 24, text
    words = [as_word(raw[i : i + 8]) for i in (0, 8, 16)]
    masks = [as_word(b"\xff" * len(raw[i : i + 8])) for i in (0, 8, 16)]
    return (words[0], words[1], words[2], masks[0], masks[1], masks[2], len(raw))


@part
def begins_with(place, end, constant):
    """Whether the bytes of a token are at `place`, before `end`."""
    if place + constant[6] > end or load64(place) & constant[3] != constant[0]:
        return False
    if constant[6] > 8 and load64(place + 8) & constant[4] != constant[1]:
        return False
    return constant[6] <= 16 or load64(place + 16) & constant[5] == constant[2]


@inlined_part
def skip_blanks(place, end):
    """Return the first place that is not a JSON blank, or `end`."""
    while place < end:
        byte = load8(place)
        if byte > _SPACE or (
            byte != _SPACE and byte != _NEWLINE and byte != _RETURN and byte != _TAB
        ):
            break
        place += 1
    return place


@part
def after_byte(place, end, byte):
    """Return the place after `byte`, which blanks may precede; 0 if the byte is missing, or `place`
    is 0."""
    if place == 0:
        return np.int64(0)
    place = skip_blanks(place, end)
    if place < end and load8(place) == byte:
        return place + 1
    return np.int64(0)


@part
def after_token(place, end, constant):
    """Return the place after a token, which blanks may precede; 0 if it is missing, or `place` is
    0."""
    if place == 0:
        return np.int64(0)
    place = skip_blanks(place, end)
    return place + constant[6] if begins_with(place, end, constant) else np.int64(0)


@part
def _unit(place, end):
    """The number of four hexadecimal digits; -1 if a byte is not such a digit."""
    if place + 4 > end:
        return np.int64(-1)
    value = np.int64(0)
    for i in range(4):
        digit = np.int64(HEXADECIMAL_VALUES[load8(place + i)])
        if digit < 0:
            return np.int64(-1)
        value = value << 4 | digit
    return value


@part
def _put_point(point, out):
    """Write a code point in UTF-8, U+FFFD for half of a surrogate pair; returns its end."""
    if point & 0xFFFFF800 == 0xD800:
        point = np.int64(_REPLACEMENT)
    if point < 0x80:
        store8(out, point)
        return out + 1
    if point < 0x800:
        store32(out, 0x80C0 | point >> 6 | (point & 63) << 8)
        return out + 2
    if point < 0x10000:
        store32(out, 0x8080E0 | point >> 12 | (point >> 6 & 63) << 8 | (point & 63) << 16)
        return out + 3
    first = point >> 18 | (point >> 12 & 63) << 8
    store32(out, 0x808080F0 | first | (point >> 6 & 63) << 16 | (point & 63) << 24)
    return out + 4


@part
def _put_escape(place, end, out):
    """Write the character of an escape at `place`; returns the ends of both, the first 0 if the
    text is not an escape."""
    if place + 2 > end:
        return np.int64(0), out
    letter = load8(place + 1)
    if letter != _SMALL_U:
        byte = np.int64(_ESCAPED[letter])
        store8(out, byte)
        return (place + 2 if byte else np.int64(0)), out + 1
    point = _unit(place + 2, end)
    if point < 0:
        return np.int64(0), out
    place += 6
    if 0xD800 <= point < 0xDC00 and begins_with(place, end, _ESCAPED_UNIT):
        low = _unit(place + 2, end)
        if low < 0:
            return np.int64(0), out
        if 0xDC00 <= low < 0xE000:
            point = 0x10000 + ((point - 0xD800) << 10 | low - 0xDC00)
            place += 6
    return place, _put_point(point, out)


_ESCAPED_UNIT = token("\\u")


@part
def _character_size(place, left):
    """Bytes of the UTF-8 character at `place`, which has more than one; 0: not valid UTF-8."""
    byte = load8(place)
    if byte >= 0xE0:
        size = np.int64(3 if byte < 0xF0 else 4)
        return size if wide_point(place, left) >= 0 else np.int64(0)
    if byte >= 0xC2 and left > 1 and is_tail(load8(place + 1)):
        return np.int64(2)
    return np.int64(0)


@part
def _put_rare_run(place, end, out):
    """Decode escapes and characters that are not plain ASCII, up to the next plain character;
    returns the end in the text and in the output, the first 0 if the text is invalid."""
    while place < end:
        byte = load8(place)
        if byte >= 0x80:
            size = _character_size(place, end - place)
            if size == 0:
                return np.int64(0), out
            for i in range(size):
                store8(out + i, load8(place + i))
            place += size
            out += size
        elif byte == _BACKSLASH:
            place, out = _put_escape(place, end, out)
            if place == 0:
                return np.int64(0), out
        elif byte == _DELETE:
            store8(out, byte)
            place += 1
            out += 1
        elif byte < _SPACE:
            return np.int64(0), out
        else:
            break
    return place, out


@part
def put_string(place, end, out):
    """Decode a string whose first character is at `place`; returns the place after its closing
    quote (0: it has none, or is invalid) and the end of the output.

    The output has no more bytes than the string; up to 16 more are written.
    """
    while place < end:
        mask = copy16_plain_mask(out, place)
        count = end - place
        if count > 16:
            count = np.int64(16)
        plain = min(count_trailing_zeros(mask), count)
        place += plain
        out += plain
        if plain < count:
            if load8(place) == QUOTE:
                return place + 1, out
            place, out = _put_rare_run(place, end, out)
            if place == 0:
                return np.int64(0), out
    return np.int64(0), out


@inlined_part
def put_name(place, end, out):
    """Decode a string like `put_string`, but without zero characters, and write a zero byte after
    it; the returned end includes that byte."""
    after, stop = put_string(place, end, out)
    store8(stop, 0)
    # Only an escape, which makes a string shorter, can produce a zero character.
    if after and stop - out != after - 1 - place and name_end(out, stop) != stop:
        return np.int64(0), stop
    return after, stop + 1
