"""Indents compact texts of JSON."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.json_scan import (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    COMMA,
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
    skip_string,
)
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load32_signed,
    store8,
)

_NEWLINE, _SPACE = ord("\n"), ord(" ")
_STEP = 2
"""Spaces per level."""


@part
def _new_line(depth, out, writes):
    """Write a line break and the indentation of the next line; returns their end."""
    size = 1 + _STEP * depth
    if writes:
        store8(out, _NEWLINE)
        for place in range(1, size):
            store8(out + place, _SPACE)
    return out + size


@part
def _indent(place, end, out, writes):
    """Indent a compact text; returns its end. `writes`: the text is written, not only measured."""
    depth = np.int64(0)
    while place < end:
        byte = load8(place)
        begin = place
        place += 1
        if byte == QUOTE:
            place = skip_string(place, end)
            if place < 0:
                place = end
            if writes:
                copy(begin, place - begin, out)
            out += place - begin
            continue
        closes = byte in (CLOSE_OBJECT, CLOSE_ARRAY)
        opens = byte in (OPEN_OBJECT, OPEN_ARRAY)
        if closes:
            depth -= 1
            before = load8(begin - 1)
            if before not in (OPEN_OBJECT, OPEN_ARRAY):
                out = _new_line(depth, out, writes)
        if writes:
            store8(out, byte)
        out += 1
        if opens:
            depth += 1
        if byte == COMMA or (opens and load8(place) not in (CLOSE_OBJECT, CLOSE_ARRAY)):
            out = _new_line(depth, out, writes)
    return out


@entry
def indent_column(offsets, count, texts, ends, out, writes):
    """Indent `count` texts (int32 `offsets`), one after the other at `out`; their `ends` are
    int64."""
    begin = out
    for i in range(count):
        place = texts + load32_signed(offsets + 4 * i)
        out = _indent(place, texts + load32_signed(offsets + 4 * i + 4), out, writes)
        ends[i] = out - begin
    return out - begin
