"""The journal's frames to rows of the index, compiled."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.memory import load8, load32_be, load64_be
from headrace.connect.rows import NULL
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.image_kernel import add_images
from headrace.streaming.changes.kernels.transaction_kernel import (
    begin_transaction,
    end_transaction,
    is_full,
)

_HEAD, _BEGIN = 6, 30
_BEGINS, _ENDS = ord("B"), ord("E")
_NULL = int(NULL)


@entry
def index_frames(
    data, written, start, rows, rows_room, transactions, transactions_room, ends, ends_room,
    relations, options, scratch, state,
):  # fmt: skip
    """See SegmentReader.kernel. Returns MORE, FULL, KEY or BROKEN."""
    while True:
        at = state[row_kernel.INDEXED]
        if at + _HEAD > written or at + load32_be(data + at) > written:
            return row_kernel.MORE
        if is_full(state, rows_room, transactions_room, ends_room):
            return row_kernel.FULL
        size, kind, body = load32_be(data + at), load8(data + at + 4), data + at + _HEAD
        if size < (_BEGIN if kind == _BEGINS else _HEAD):
            return row_kernel.BROKEN
        place = state[row_kernel.POSITION_LOW]
        if kind == _BEGINS:
            state[row_kernel.POSITION_HIGH] = load64_be(body)
            state[row_kernel.POSITION_LOW] = load64_be(body + 8)
            state[row_kernel.COMMIT_US] = load64_be(body + 16)
            image = start + at + _BEGIN
            begin_transaction(
                rows, transactions, state, _NULL, image, size - _BEGIN, load64_be(body + 8), size
            )
        elif kind == _ENDS:
            high = state[row_kernel.POSITION_HIGH]
            end_transaction(rows, transactions, ends, state, high, place + size, place, size)
        else:
            status = add_images(
                body, data + at + size, start - data, kind, load8(data + at + 5), place, size,
                rows, transactions, relations, options, scratch, state,
            )  # fmt: skip
            if status != row_kernel.MORE:
                return status
        state[row_kernel.INDEXED] = at + size
