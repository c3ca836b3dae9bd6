"""The journal's frames to rows of the index, compiled."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import load8, load32_be, load64_be
from headrace.connect.rows import NULL
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import (
    BEGINNING_BYTES,
    FRAME_HEAD_BYTES,
    begin_at,
    frame_kind,
)
from headrace.streaming.changes.kernels.image_kernel import add_images
from headrace.streaming.changes.kernels.transaction_kernel import begin_transaction, end_transaction

_HEAD = FRAME_HEAD_BYTES + 1
_BEGIN = _HEAD + BEGINNING_BYTES
_BEGINS, _ENDS = ord("B"), ord("E")
_NULL = int(NULL)


@entry
def index_frame(frame, virtual, rows, transactions, ends, relations, options, scratch, state):
    """See FrameReader.frame_kernel. Returns MORE, KEY or BROKEN."""
    size, kind, body = load32_be(frame), frame_kind(frame), frame + _HEAD
    if size < (_BEGIN if kind == _BEGINS else _HEAD):
        return row_kernel.BROKEN
    place = state[row_kernel.POSITION_LOW]
    if kind == _BEGINS:
        begin_at(body, state)
        begin_transaction(
            rows, transactions, state, _NULL, frame + virtual + _BEGIN, size - _BEGIN,
            load64_be(body + 8), size,
        )  # fmt: skip
        return row_kernel.MORE
    if kind == _ENDS:
        high = state[row_kernel.POSITION_HIGH]
        end_transaction(rows, transactions, ends, state, high, place + size, place, size)
        return row_kernel.MORE
    return add_images(
        body, frame + size, virtual, kind, load8(frame + FRAME_HEAD_BYTES), place, size,
        rows, transactions, relations, options, scratch, state,
    )  # fmt: skip
