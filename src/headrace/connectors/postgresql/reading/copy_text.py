"""Rows of COPY's text format, transcoded to row images (the layout of `headrace.connect.rows`).

Format: PostgreSQL manual, "COPY", "Text Format". Pure: no connection.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from headrace.connect.images import (
    CELL_HEAD_BYTES,
    HEAD_BYTES,
    put_head,
    put_null,
    put_text_head,
)
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    copy16,
    copy_text_mask16,
    count_trailing_zeros,
    load8,
    load32_be,
    store8,
    store64,
)

_TAB, _NEWLINE, _BACKSLASH, _CAPITAL_N = 9, 10, ord("\\"), ord("N")
_COPY_DATA = ord("d")


class Status(IntEnum):
    """Exit status of the kernels: what they need next, or (negative) the error in a row."""

    MORE = 0
    """All complete messages are consumed."""
    FULL = 1
    """The output has no room for the next row, or `max_rows` have been written."""
    OTHER = 2
    """The next message is not a CopyData."""
    COLUMNS = -1
    """A row has another number of columns."""
    MALFORMED = -2
    """Not COPY's text format, or not a message."""
    CAPACITY = -3
    """The image may not fit."""


_MORE, _FULL, _OTHER = int(Status.MORE), int(Status.FULL), int(Status.OTHER)
_COLUMNS, _MALFORMED = int(Status.COLUMNS), int(Status.MALFORMED)
_CAPACITY = int(Status.CAPACITY)


def _unescaped() -> np.ndarray:
    table = np.zeros(256, np.int64)
    for letter, byte in (*zip(b"bfnrtv", b"\b\f\n\r\t\v", strict=True), (_BACKSLASH, _BACKSLASH)):
        table[letter] = byte
    return table


# The characters that backslash escapes stand for; 0: an escape that the server never writes.
_UNESCAPED = _unescaped()


@entry
def image_bound(length, columns):  # type: ignore[no-untyped-def]
    """The largest possible size, in bytes, of the image of a row of `length` bytes."""
    return length + CELL_HEAD_BYTES * columns + HEAD_BYTES


@part
def transcode(source, length, columns, out, capacity):  # type: ignore[no-untyped-def]
    """Write the image of one row, `length` bytes at `source` with its newline; returns its size.

    `PADDING` bytes after the input must be readable and after `capacity` writable. Negative: a
    `Status`, and the output is undefined.
    """
    if length < 1 or columns < 0 or columns > 0x7FFF:
        return np.int64(_MALFORMED)
    if image_bound(length, columns) > capacity:
        return np.int64(_CAPACITY)
    end = source + length - 1
    if load8(end) != _NEWLINE:
        return np.int64(_MALFORMED)
    head = put_head(out, columns)  # of the cell being written
    if columns == 0:
        return np.int64(2 if length == 1 else _COLUMNS)
    cell = np.int64(1)
    target = head + CELL_HEAD_BYTES
    position = source
    while position < end:
        copy16(target, position)
        mask = copy_text_mask16(position)
        count = end - position
        if count < 16:
            mask &= (1 << count) - 1
        else:
            count = 16
        while mask:
            place = count_trailing_zeros(mask)
            byte = load8(position + place)
            if byte == _TAB:
                if cell == columns:
                    return np.int64(_COLUMNS)
                cell += 1
                size = target + place - head - CELL_HEAD_BYTES
                put_text_head(head, size)
                head = target + place
                # The head of the next cell replaces one tab, so the text moves on.
                copy16(head + CELL_HEAD_BYTES, position + place + 1)
                target += CELL_HEAD_BYTES - 1
                mask &= mask - 1
                continue
            if byte == _NEWLINE:
                return np.int64(_MALFORMED)
            # A backslash: take two bytes, then continue with a new block.
            following = position + place + 1
            if following >= end:
                return np.int64(_MALFORMED)
            letter = load8(following)
            if letter != _CAPITAL_N:
                byte = _UNESCAPED[letter]
                if byte == 0:
                    return np.int64(_MALFORMED)
                store8(target + place, byte)
                target += place + 1
                position = following + 1
                count = 0
                break
            # A null must fill a whole cell.
            if target + place != head + CELL_HEAD_BYTES:
                return np.int64(_MALFORMED)
            head = put_null(head)
            position = following + 1
            if position < end:
                if load8(position) != _TAB:
                    return np.int64(_MALFORMED)
                if cell == columns:
                    return np.int64(_COLUMNS)
                cell += 1
                position += 1
                target = head + CELL_HEAD_BYTES
                count = 0
                break  # the row may end in an empty cell
            return np.int64(head - out if cell == columns else _COLUMNS)
        position += count
        target += count
    if cell != columns:
        return np.int64(_COLUMNS)
    put_text_head(head, target - head - CELL_HEAD_BYTES)
    return target - out


@entry
def transcode_rows(  # type: ignore[no-untyped-def]
    frames, length, columns, out, capacity, offsets, max_rows, state
):
    """Write the images of the CopyData messages (`d`, int32 length including itself, one row) at
    `frames`.

    Writes the images one after another, and, to the int64s at `offsets`, the start of each and the
    end of the last, relative to `out`. Returns the number of rows. int64s at `state`: the bytes of
    `frames` consumed, and a `Status`. Paddings as in `transcode`.
    """
    position = np.int64(0)
    used = np.int64(0)
    rows = np.int64(0)
    status = np.int64(_MORE)
    store64(offsets, used)
    while length - position >= 5:
        if load8(frames + position) != _COPY_DATA:
            status = np.int64(_OTHER)
            break
        size = load32_be(frames + position + 1) + 1
        if size < 5:
            status = np.int64(_MALFORMED)
            break
        if size > length - position:
            break
        if rows >= max_rows:
            status = np.int64(_FULL)
            break
        written = transcode(frames + position + 5, size - 5, columns, out + used, capacity - used)
        if written < 0:
            status = np.int64(_FULL if written == _CAPACITY else written)
            break
        used += written
        rows += 1
        position += size
        offsets[rows] = used
    store64(state, position)
    store64(state + 8, status)
    return rows
