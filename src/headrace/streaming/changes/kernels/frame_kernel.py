"""Frames in which a connector itself writes its log: their heads, places of the log in them, and
the pass that indexes them.

A frame begins with its size (uint32, network byte order) and its kind (one byte).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import struct

from headrace.connect.images import store32_be
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import caller_of, load8, load32_be, load64_be, store8
from headrace.streaming.changes.kernels.row_kernel import (
    BROKEN,
    COMMIT_US,
    FRAME_KERNEL,
    FULL,
    INDEXED,
    MORE,
    POSITION_HIGH,
    POSITION_LOW,
)
from headrace.streaming.changes.kernels.transaction_kernel import is_full

FRAME_HEAD = struct.Struct("!IB")
FRAME_HEAD_BYTES = FRAME_HEAD.size
PLACE_BYTES = 16
BEGINNING_BYTES = PLACE_BYTES + 8
"""Bytes of a transaction's beginning, without its image: see `begin_at`."""
BEGIN_BYTES = FRAME_HEAD_BYTES + BEGINNING_BYTES
"""Bytes of a frame that begins a transaction, without its image."""

_call9 = caller_of(9)


@part
def frame_kind(frame):
    """Return the kind of a frame."""
    return load8(frame + 4)


@part
def begin_at(beginning, state):
    """Note the place of a transaction and, after it, its microseconds since 1970, for the rows that
    follow."""
    state[POSITION_HIGH] = load64_be(beginning)
    state[POSITION_LOW] = load64_be(beginning + 8)
    state[COMMIT_US] = load64_be(beginning + 16)


@entry
def index_frames(
    data, written, start, rows, rows_room, transactions, transactions_room, ends, ends_room,
    relations, options, scratch, state,
):  # fmt: skip
    """Index the whole frames of a segment, see SegmentReader.kernel: each by the kernel whose
    address is state[FRAME_KERNEL], see FrameReader.frame_kernel. Returns MORE, FULL, BROKEN, or
    another status of that kernel, which has left its frame out then."""
    index_frame = state[FRAME_KERNEL]
    while True:
        at = state[INDEXED]
        frame = data + at
        if at + FRAME_HEAD_BYTES > written or at + load32_be(frame) > written:
            return MORE
        # A frame may also end the transaction before, or begin its own with its first record.
        if is_full(state, rows_room - 1, transactions_room - 1, ends_room):
            return FULL
        size = load32_be(frame)
        if size < FRAME_HEAD_BYTES:
            return BROKEN
        status = _call9(
            index_frame,
            (frame, start - data, rows, transactions, ends, relations, options, scratch, state),
        )
        if status != MORE:
            return status
        state[INDEXED] = at + size


@part
def put_frame_head(out, end, kind):
    """Write the head of the frame between these addresses."""
    store32_be(out, end - out)
    store8(out + 4, kind)


@part
def put_number(out, number):
    """Write 64 bits in network byte order; return their end."""
    store32_be(out, number >> 32)
    store32_be(out + 4, number)
    return out + 8


@part
def put_place(out, high, low):
    """Write the two halves of a place in network byte order; return their end."""
    return put_number(put_number(out, high), low)


@part
def put_place_frame(out, kind, high, low):
    """Write a frame that consists of a place; return its end."""
    end = put_place(out + FRAME_HEAD_BYTES, high, low)
    put_frame_head(out, end, kind)
    return end
