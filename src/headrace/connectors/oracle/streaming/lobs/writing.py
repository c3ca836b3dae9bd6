"""Writes transactions whose rows Python has to read: their beginning, the frames of the merge, and
their end."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from headrace.connect.images import make_image
from headrace.connectors.oracle.scn import format_xid, place_of
from headrace.connectors.oracle.streaming import frames
from headrace.connectors.oracle.streaming.transactions import write_kernel
from headrace.connectors.oracle.streaming.transactions.buffer import Committed
from headrace.streaming.changes.kernels.frame_kernel import FRAME_HEAD_BYTES, PLACE_BYTES

_HEAD, _NUMBER = struct.Struct("!IB"), struct.Struct("!q")
_OF_CHANGE = struct.Struct("!Qq")
_PARTS = 64
"""Frames that are written at once."""


def written(transaction: Committed, changes: Iterable[bytes], shown_fields: int) -> Iterator[bytes]:
    """Yield the bytes of a transaction with these changes, a few frames at a time; nothing if there
    are no changes. `shown_fields`: bits of `write_kernel`."""
    parts: list[bytes] = []
    is_open = False
    for change in changes:
        if not is_open:
            is_open = True
            parts.append(_beginning(transaction, change, shown_fields))
        parts.append(change)
        if len(parts) >= _PARTS:
            yield b"".join(parts)
            parts.clear()
    if is_open:
        parts.append(_HEAD.pack(frames.END_FRAME_BYTES, frames.ENDS))
        parts.append(_NUMBER.pack(transaction.start_us))
        yield b"".join(parts)


def _beginning(transaction: Committed, first: bytes, shown_fields: int) -> bytes:
    """Return the frame of the beginning, as `write_kernel` writes it: it has SCN and time of the
    first change."""
    scn, us = _OF_CHANGE.unpack_from(first, FRAME_HEAD_BYTES + 4)
    values = (
        format_xid(transaction.xid),
        str(transaction.scn),
        str(transaction.thread),
        transaction.user if shown_fields & write_kernel.SHOWS_USER else None,
        str(transaction.us // 1000) if shown_fields & write_kernel.SHOWS_COMMIT_TIME else None,
        str(scn),
        str(us // 1000) if shown_fields & write_kernel.SHOWS_START_TIME else None,
    )
    place = place_of(transaction.scn, transaction.xid).to_bytes(PLACE_BYTES, "big")
    body = place + _NUMBER.pack(us) + make_image(values)
    return _HEAD.pack(FRAME_HEAD_BYTES + len(body), frames.BEGINS) + body
