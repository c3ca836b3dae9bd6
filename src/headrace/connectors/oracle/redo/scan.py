"""Functions on the bytes of redo statements, for the kernels that read them.

Addresses and lengths are int64. `stop` is the end of a statement: bytes at and after it are read
(up to 64, which exist), but never decide anything.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import inlined_part, part
from headrace.connect.kernels.memory import (
    byte_mask16,
    count_trailing_zeros,
    load8,
    load64,
    unequal_mask16,
)

QUOTE = ord("'")
NONE = np.int64(-1)
"""No such place; or the statement is odd."""


@inlined_part
def begins_with(place, stop, text, length):
    """Whether the `length` bytes at the address `text` (with readable bytes after them) are at a
    place."""
    if stop - place < length:
        return False
    for offset in range(0, length, 16):
        differences = unequal_mask16(place + offset, text + offset)
        if length - offset < 16:
            differences &= (1 << (length - offset)) - 1
        if differences:
            return False
    return True


@inlined_part
def has_word(place, stop, word, length):
    """Whether the first `length` bytes (at most 8) of a little-endian word are at a place."""
    if stop - place < length:
        return False
    difference = load64(place) ^ word
    return (difference if length == 8 else difference & ((1 << (8 * length)) - 1)) == 0


@inlined_part
def find_byte(place, stop, byte):
    """Return the first place of a byte from `place` on; NONE."""
    while place < stop:
        mask = byte_mask16(place, byte)
        if mask:
            place += count_trailing_zeros(mask)
            return place if place < stop else NONE
        place += 16
    return NONE


@part
def skip_name(place, stop, end, other_end):
    """Return the first place of one of two bytes outside of double quotes; NONE if the quotes have
    no end, `stop` if there is neither."""
    in_quotes = False
    while place < stop:
        byte = load8(place)
        if byte == 34:
            in_quotes = not in_quotes
        elif not in_quotes and (byte in (end, other_end)):
            return place
        place += 1
    return NONE if in_quotes else place
