"""Rows as COPY writes them, and the images that they become."""

from __future__ import annotations

import struct

ESCAPES = {8: b"b", 9: b"t", 10: b"n", 11: b"v", 12: b"f", 13: b"r", 92: b"\\"}
Row = list[bytes | None]


def copy_row(row: Row) -> bytes:
    """A row as the server writes it."""
    texts = (
        b"\\N"
        if cell is None
        else b"".join(b"\\" + ESCAPES[byte] if byte in ESCAPES else bytes([byte]) for byte in cell)
        for cell in row
    )
    return b"\t".join(texts) + b"\n"


def image(row: Row) -> bytes:
    parts = [struct.pack("!h", len(row))]
    parts += [b"n" if cell is None else b"t" + struct.pack("!i", len(cell)) + cell for cell in row]
    return b"".join(parts)
