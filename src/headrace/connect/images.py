"""Row images. Only this module knows their bytes: it reads and writes them in Python, and has the
kernels that split them.

An image is one row's cells, whatever the database: int16 number of columns (network byte order),
then per column a kind byte, and for texts and binary cells an int32 length (network byte order)
and that many bytes. That is pgoutput's TupleData, so that the log of PostgreSQL is read where it
lies. The column's `Encoding` says what the bytes of a text or a binary cell mean.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import (
    load8,
    load16_be,
    load32_be,
    store8,
    store16,
    store32,
    store64,
)

Buffer = memoryview


class CellKind(IntEnum):
    """The kind byte of a cell."""

    TEXT = ord("t")
    NULL = ord("n")
    UNAVAILABLE = ord("u")  # the log does not carry the value, e.g. because it did not change
    BINARY = ord("b")


# The kinds by name in kernels, and the kind of a split cell whose column the image lacks.
TEXT, NULL = int(CellKind.TEXT), int(CellKind.NULL)
UNAVAILABLE, BINARY = int(CellKind.UNAVAILABLE), int(CellKind.BINARY)
NO_CELL = 0

HEAD_BYTES = 2
"""Bytes of an image before its first cell."""
CELL_HEAD_BYTES = 5
"""Bytes of a text or binary cell before its value."""
CELL_BYTES = 24
"""Bytes of a split cell: its kind, and address and length of its value, int64 each."""

ABSENT = b"unavailable"
"""The object that stands for an unavailable cell in Python."""


@part
def has_value(kind):
    """Return whether a split cell of this kind has an address and a length."""
    return kind != NULL and kind != UNAVAILABLE and kind != NO_CELL


@part
def split(image, cells, columns):
    """Split the first `columns` columns of a valid image; columns that the image does not have are
    NO_CELL."""
    count = load16_be(image)
    if count < columns:
        for column in range(count, columns):
            store64(cells + CELL_BYTES * column, NO_CELL)
        columns = count
    place = image + HEAD_BYTES
    for column in range(columns):
        kind = load8(place)
        place += 1
        cell = cells + CELL_BYTES * column
        store64(cell, kind)
        if kind != NULL and kind != UNAVAILABLE:
            length = load32_be(place)
            store64(cell + 8, place + 4)
            store64(cell + 16, length)
            place += 4 + length


@part
def split_checked(image, end, columns, cells):
    """Split an image of `columns` columns that ends at `end` or before; return its own end, or -1
    if it is malformed or has another number of columns."""
    if image + HEAD_BYTES > end or load16_be(image) != columns:
        return -1
    place = image + HEAD_BYTES
    for column in range(columns):
        if place >= end:
            return -1
        kind = load8(place)
        place += 1
        cell = cells + CELL_BYTES * column
        store64(cell, kind)
        if kind != NULL and kind != UNAVAILABLE:
            if (kind != TEXT and kind != BINARY) or place + 4 > end:
                return -1
            length = load32_be(place)
            place += 4
            if length > end - place:
                return -1
            store64(cell + 8, place)
            store64(cell + 16, length)
            place += length
    return place


@part
def has_any(image, columns, unavailable, null):
    """Return whether a column of a valid image that `columns` (uint8 each) marks is unavailable, if
    `unavailable` is set, or null, if `null` is set."""
    place = image + HEAD_BYTES
    for column in range(load16_be(image)):
        kind = load8(place)
        place += 1
        if kind != NULL and kind != UNAVAILABLE:
            place += 4 + load32_be(place)
        elif load8(columns + column) and (
            (kind == UNAVAILABLE and unavailable) or (kind == NULL and null)
        ):
            return True
    return False


@part
def store32_be(address, value):
    """Store 32 bits in network byte order."""
    low = (value & 0xFF) << 24 | (value & 0xFF00) << 8
    store32(address, low | (value >> 8 & 0xFF00) | (value >> 24 & 0xFF))


@part
def put_head(out, columns):
    """Write the head of an image; return the address of its first cell."""
    store16(out, (columns & 0xFF) << 8 | columns >> 8)
    return out + HEAD_BYTES


@part
def put_null(out):
    """Write a null cell; return its end."""
    store8(out, NULL)
    return out + 1


@part
def put_text_head(out, length):
    """Write the head of a text of `length` bytes; return the address of the text."""
    store8(out, TEXT)
    store32_be(out + 1, length)
    return out + CELL_HEAD_BYTES


def cells(image: Buffer | bytes, *, unavailable: bytes | None = None) -> list[bytes | None]:
    """Return the cells' bytes; null ones are None, unavailable ones are `unavailable`. The image
    must be valid; bytes after it are ignored."""
    (count,) = struct.unpack_from("!H", image, 0)
    values: list[bytes | None] = []
    place = HEAD_BYTES
    for _ in range(count):
        kind = image[place]
        place += 1
        if kind not in (TEXT, BINARY):
            values.append(unavailable if kind == UNAVAILABLE else None)
            continue
        (length,) = struct.unpack_from("!I", image, place)
        place += 4
        values.append(bytes(image[place : place + length]))
        place += length
    return values


def is_whole(image: Buffer | bytes) -> bool:
    """Return whether no cell is unavailable."""
    (count,) = struct.unpack_from("!H", image, 0)
    place = HEAD_BYTES
    for _ in range(count):
        kind = image[place]
        if kind == UNAVAILABLE:
            return False
        place += 1
        if kind in (TEXT, BINARY):
            (length,) = struct.unpack_from("!I", image, place)
            place += 4 + length
    return True


def image_of(cells: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the image of a row with these cells: a kind each, and the bytes of texts and binary
    ones."""
    out = [struct.pack("!H", len(cells))]
    for kind, raw in cells:
        has_bytes = kind in (TEXT, BINARY)
        out.append(struct.pack("!BI", kind, len(raw)) + raw if has_bytes else bytes([kind]))
    return b"".join(out)


def make_image(values: Sequence[str | bytes | None]) -> bytes:
    """Return the image of a row with these texts and nulls; the object ABSENT is unavailable."""
    out = [struct.pack("!H", len(values))]
    for value in values:
        if value is None:
            out.append(b"n")
        elif value is ABSENT:
            out.append(b"u")
        else:
            raw = value.encode() if isinstance(value, str) else value
            out += [b"t", struct.pack("!I", len(raw)), raw]
    return b"".join(out)
