"""Reads single row images in Python: signals, and keys that have to be compared exactly."""

from __future__ import annotations

import struct
from collections.abc import Sequence

Buffer = memoryview


UNAVAILABLE = b"unavailable"
"""This object stands for an unavailable cell."""


def cells(image: Buffer, *, unavailable: bytes | None = None) -> list[bytes | None]:
    """The cells as text; null ones are None, unavailable ones are `unavailable`. The image is known
    to be sound."""
    (count,) = struct.unpack_from("!h", image, 0)
    found: list[bytes | None] = []
    place = 2
    for _ in range(count):
        kind = image[place]
        place += 1
        if kind != 116:  # t
            found.append(unavailable if kind == 117 else None)  # u
            continue
        (length,) = struct.unpack_from("!I", image, place)
        place += 4
        found.append(bytes(image[place : place + length]))
        place += length
    return found


def is_whole(image: Buffer) -> bool:
    """Whether no cell is unavailable."""
    (count,) = struct.unpack_from("!h", image, 0)
    place = 2
    for _ in range(count):
        kind = image[place]
        place += 1
        if kind == 117:  # u
            return False
        if kind == 116:
            (length,) = struct.unpack_from("!I", image, place)
            place += 4 + length
    return True


def make_image(texts: Sequence[str | None]) -> bytes:
    """The image of a row with these cells."""
    out = [struct.pack("!h", len(texts))]
    for text in texts:
        if text is None:
            out.append(b"n")
        else:
            raw = text.encode()
            out += [b"t", struct.pack("!I", len(raw)), raw]
    return b"".join(out)
