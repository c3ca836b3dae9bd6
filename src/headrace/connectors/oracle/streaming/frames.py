"""Frames: the form of Oracle's transactions in segments, and the kernel that indexes them.

Numbers are in network byte order. A frame has the head of `frame_kernel`, and is one of

    B   a transaction begins, at its commit: place (16), microseconds since 1970 of its first change
        (8), the image of events.py
    c   a create: relation version (4), SCN (8), microseconds since 1970 (8), the row's own image,
        the image
    u   an update: the same, the image before and the image after
    d   a delete: the same, the image before
    t   a truncate: the same without image
    s   a schema change, outside of transactions: place (16), relation version (4), microseconds
        since 1970 (8), the image of the schema change
    E   the transaction ends: microseconds since 1970 of its beginning (8)
    S   everything up to a place (16) was read
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.images import split_checked
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import load32_be, load64_be
from headrace.connectors.oracle.events import EXTRA_CELLS
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import (
    FRAME_HEAD_BYTES,
    PLACE_BYTES,
    frame_kind,
)
from headrace.streaming.changes.kernels.image_kernel import add_images
from headrace.streaming.changes.kernels.late_kernel import (
    OWN_WORDS,
    add_late_begin,
    begin_late,
    end_late,
    take_back_beginning,
)
from headrace.streaming.changes.kernels.transaction_kernel import advance

STATE_WORDS = OWN_WORDS
"""The number of words of `state`."""
RARE = row_kernel.OWN_STATUSES
"""The status of a kernel that stopped at a truncate or a schema change, which Python adds."""

CHANGE_HEAD_BYTES = FRAME_HEAD_BYTES + 4 + 8 + 8
END_FRAME_BYTES = FRAME_HEAD_BYTES + 8
PLACE_FRAME_BYTES = FRAME_HEAD_BYTES + PLACE_BYTES
TRUNCATE, SCHEMA_CHANGE = ord("t"), ord("s")
"""Kinds of frames, and operations of their rows."""
BEGINS, ENDS, REACHED = ord("B"), ord("E"), ord("S")
_EXTRA_CELLS = EXTRA_CELLS


@entry
def is_at_time(state, us):
    """Set the time of the following rows of the open transaction."""
    if state[row_kernel.COMMIT_US] != us:
        state[row_kernel.COMMIT_US] = us
        state[row_kernel.TRANSACTION_ROW] = -1


@part
def _add_change(
    frame, virtual, size, kind,
    rows, transactions, relations, options, scratch, state,
):  # fmt: skip
    """Add the rows of the change in a frame. Returns MORE, KEY or BROKEN."""
    body, stop = frame + FRAME_HEAD_BYTES, frame + size
    extra = frame + CHANGE_HEAD_BYTES
    images = split_checked(extra, stop, _EXTRA_CELLS, scratch)
    if images < 0:
        return row_kernel.BROKEN
    index, place = load32_be(body), load64_be(body + 4)
    is_at_time(state, load64_be(body + 12))
    first = state[row_kernel.ROWS]
    add_late_begin(rows, transactions, state)
    state[row_kernel.EXTRA] = extra + virtual
    status = add_images(
        images, stop, virtual, kind, index, place, size,
        rows, transactions, relations, options, scratch, state,
    )  # fmt: skip
    state[row_kernel.EXTRA] = 0
    take_back_beginning(state, first)
    return status


@entry
def index_frame(frame, virtual, rows, transactions, ends, relations, options, scratch, state):
    """See FrameReader.frame_kernel. Returns MORE, KEY, BROKEN or RARE."""
    size, kind, body = load32_be(frame), frame_kind(frame), frame + FRAME_HEAD_BYTES
    if kind == BEGINS:
        return begin_late(frame, virtual, rows, transactions, state)
    if kind == ENDS:
        if size < END_FRAME_BYTES:
            return row_kernel.BROKEN
        is_at_time(state, load64_be(body))
        end_late(rows, transactions, ends, state, size)
    elif kind == REACHED:
        if size < PLACE_FRAME_BYTES:
            return row_kernel.BROKEN
        advance(state, load64_be(body), load64_be(body + 8))
    elif kind in (TRUNCATE, SCHEMA_CHANGE):
        return RARE
    elif size < CHANGE_HEAD_BYTES:
        return row_kernel.BROKEN
    else:
        return _add_change(
            frame, virtual, size, kind,
            rows, transactions, relations, options, scratch, state,
        )  # fmt: skip
    return row_kernel.MORE
