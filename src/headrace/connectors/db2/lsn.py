"""Db2's log sequence numbers: bytes as its tables have them, numbers to compare, texts to show.

A number has 16 bytes, or 10 (Db2 for z/OS, and LUW with an ARCH_LEVEL below 1001). It is unsigned
and in network byte order, so numbers of different sizes compare as whole numbers do. As a place in
the log (headrace.offsets.position) it is that whole number.
"""

from __future__ import annotations

import re

LSN_BYTES = 16
"""Bytes of a log sequence number."""
ORDER_BYTES = 16
"""Bytes of a number in a frame of a change, before the image with `change_lsn`."""

_TEXT = re.compile(r"([0-9a-f]{8}):([0-9a-f]{8}):([0-9a-f]{16}|[0-9a-f]{4})")


def place_of(lsn: bytes) -> int:
    """Return the number as a place in the log."""
    return int.from_bytes(lsn, "big")


def lsn_of(place: int, size: int = LSN_BYTES) -> bytes:
    """Return the number of `size` bytes at a place in the log. Raises OverflowError for a place
    that has no number of this size."""
    return place.to_bytes(size, "big")


def format_lsn(lsn: bytes) -> str:
    """Return Debezium's text: `00000000:00000000:0000000003a1b2c4`, or `…:b2c4` for 10 bytes."""
    digits = lsn.hex()
    return f"{digits[:8]}:{digits[8:16]}:{digits[16:]}"


def parse_lsn(text: str) -> bytes:
    """The reverse of `format_lsn`. Raises ValueError."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError("no log sequence number")
    return bytes.fromhex("".join(match.groups()))
