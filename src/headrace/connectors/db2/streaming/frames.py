"""Frames: the form of Db2's changes in segments, and the kernels that write and index them.

Numbers are in network byte order, unless stated otherwise. A frame begins with its size
(uint32) and its kind (one byte), and is one of

    B   a transaction begins: place (16), microseconds since 1970 (8), an image with `commit_lsn`
    c   a create: relation version (4), the number that orders it (16), an image with
        `change_lsn`, the image
    u   an update: the same, the image before and the image after
    w   an update without the image before: the same, the image after
    d   a delete: the same, the image before
    s   a schema change: the same as a create, its image is that of the schema change; its number is
        that of the change that it comes before
    E   the transaction ends
    S   everything up to a place (16) was read
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import put_head, put_text_head, split_checked, store32_be
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import (
    copy,
    load8,
    load16_be,
    load32_be,
    load64,
    load64_be,
    store8,
    store32,
    store64,
)
from headrace.connect.rows import BEGIN, ROW, offset_in_row
from headrace.connectors.db2.lsn import ORDER_BYTES
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import (
    BEGIN_BYTES,
    FRAME_HEAD_BYTES,
    PLACE_BYTES,
    frame_kind,
    put_frame_head,
    put_number,
    put_place,
    put_place_frame,
)
from headrace.streaming.changes.kernels.image_kernel import add_images
from headrace.streaming.changes.kernels.key_kernel import CELLS
from headrace.streaming.changes.kernels.late_kernel import (
    OWN_WORDS,
    add_late_begin,
    begin_late,
    end_late,
    take_back_beginning,
)
from headrace.streaming.changes.kernels.transaction_kernel import advance

# Words of `state` after those of late_kernel.
(
    HAS_CHANGE,  # 1: a change of the open transaction was read
    CHANGE,  # lower half of its number
    SERIAL,  # number of the change among those with the same number; 0: a schema change
    PENDING,  # schema changes after the last change
    RESUMES,  # 1: the stream begins inside of the transaction of the next words
    RESUMED_HIGH,
    RESUMED_LOW,
    RESUMED_CHANGE,  # lower half of the number of the last change that is delivered
    RESUMED_ORDINAL,  # the least ordinal of the changes after it
    STATE_END,
) = range(OWN_WORDS, OWN_WORDS + 10)
STATE_WORDS = STATE_END

HEAD_BYTES = FRAME_HEAD_BYTES
CHANGE_HEAD_BYTES = HEAD_BYTES + 4 + ORDER_BYTES
PLACE_FRAME_BYTES = HEAD_BYTES + PLACE_BYTES
_BEGINS, _ENDS, _SYNCHPOINT = ord("B"), ord("E"), ord("S")
_UPDATE = row_kernel.UPDATE
WITHOUT_OLD = ord("w")
"""The kind of an update's frame that has only the image after; the other kinds of changes are their
operations."""
SCHEMA_CHANGE = ord("s")
"""The kind of a schema change's frame, and the operation of its row: `schema_changes.OPERATION`."""
_COLON, _ZERO, _LETTER = ord(":"), ord("0"), ord("a") - 10
_ROW_SIZE = ROW.itemsize
_PART, _SERIAL, _OPERATION = map(offset_in_row, ("part", "serial", "operation"))
_FIRST_COLON, _SECOND_COLON = 8, 16
"""Hexadecimal digits before each colon of a number's text."""
_HALF = np.uint64(1 << 63)

# A change that is to be written: thirteen int64. The images' addresses and sizes (0: it has none),
# the relation version, the kind of its frame, the number that it shows, the number that orders it,
# and its transaction's number and time.
(
    OLD,
    OLD_SIZE,
    NEW,
    NEW_SIZE,
    RELATION,
    KIND,
    LSN_HIGH,
    LSN_LOW,
    ORDER_HIGH,
    ORDER_LOW,
    COMMIT_HIGH,
    COMMIT_LOW,
    COMMIT_US,
) = range(13)
CHANGE_WORDS = 13
_CHANGE_BYTES = 8 * CHANGE_WORDS

# The open transaction, whose frames were begun and not ended: three int64.
IS_OPEN, OPEN_HIGH, OPEN_LOW = 0, 8, 16
OPEN_WORDS = 3

_LSN_IMAGE_BYTES = 41
FRAME_BYTES = CHANGE_HEAD_BYTES + BEGIN_BYTES + 2 * _LSN_IMAGE_BYTES + HEAD_BYTES
"""The most bytes that a change takes in addition to its images, with the beginning of its
transaction and the end of the one before."""


@part
def put_lsn_image(out, high, low, size):
    """Write an image with the text of a number of `size` bytes; returns its end."""
    out = put_text_head(put_head(out, 1), 2 * size + 2)
    for digit in range(32 - 2 * size, 32):
        half = high if digit < 16 else low
        value = (half >> (60 - 4 * (digit & 15))) & 15
        written = digit - (32 - 2 * size)
        if written in (_FIRST_COLON, _SECOND_COLON):
            store8(out, _COLON)
            out += 1
        store8(out, value + (_ZERO if value < 10 else _LETTER))
        out += 1
    return out


@entry
def write_end(out, transaction):
    """Write the end of the open transaction, if there is one; returns its end."""
    if load64(transaction + IS_OPEN) == 0:
        return out
    store64(transaction + IS_OPEN, 0)
    put_frame_head(out, out + HEAD_BYTES, _ENDS)
    return out + HEAD_BYTES


@entry
def write_synchpoint(out, high, low):
    """Write that everything up to a place was read; returns the frame's end."""
    return put_place_frame(out, _SYNCHPOINT, high, low)


@part
def _write_begin(out, high, low, us, lsn_bytes, transaction):
    """Write the beginning of a transaction that is not the open one, after the end of the latter;
    returns its end."""
    if (
        load64(transaction + IS_OPEN)
        and load64(transaction + OPEN_HIGH) == high
        and load64(transaction + OPEN_LOW) == low
    ):
        return out
    out = write_end(out, transaction)
    store64(transaction + IS_OPEN, 1)
    store64(transaction + OPEN_HIGH, high)
    store64(transaction + OPEN_LOW, low)
    end = put_place(out + HEAD_BYTES, high, low)
    end = put_lsn_image(put_number(end, us), high, low, lsn_bytes)
    put_frame_head(out, end, _BEGINS)
    return end


@entry
def write_changes(changes, count, lsn_bytes, transaction, out):
    """Write the frames of `count` changes in their order, with the beginnings and ends of
    transactions between them; returns their end. The last transaction stays open."""
    for number in range(count):
        change = changes + _CHANGE_BYTES * number
        high, low = change[COMMIT_HIGH], change[COMMIT_LOW]
        out = _write_begin(out, high, low, change[COMMIT_US], lsn_bytes, transaction)
        store32_be(out + HEAD_BYTES, change[RELATION])
        order_high, order_low = change[ORDER_HIGH], change[ORDER_LOW]
        lsn_image = put_place(out + HEAD_BYTES + 4, order_high, order_low)
        lsn_high, lsn_low = change[LSN_HIGH], change[LSN_LOW]
        end = put_lsn_image(lsn_image, lsn_high, lsn_low, lsn_bytes)
        end = copy(change[OLD], change[OLD_SIZE], end)
        end = copy(change[NEW], change[NEW_SIZE], end)
        put_frame_head(out, end, change[KIND])
        out = end
    return out


@part
def _add_update_without_old(
    image, stop, virtual, index, place, size, rows, transactions, relations, options, scratch, state
):
    """Add an update that has only the image after, like `add_images`."""
    relation = relations + 8 * row_kernel.RELATION_WORDS * index
    columns = relation[row_kernel.COLUMNS]
    if split_checked(image, stop, columns, scratch + CELLS) < 0:
        return row_kernel.BROKEN
    outcome = row_kernel.LEFT_OUT
    if not row_kernel.is_skipped(relation, _UPDATE, options):
        outcome = row_kernel.add_change(
            rows, transactions, state, _UPDATE, index, relation, 0, image + virtual, 0,
            scratch, scratch + CELLS, place, size, options, scratch,
        )  # fmt: skip
    if outcome == row_kernel.LACKS_KEY:
        return row_kernel.KEY
    row_kernel.count_change(state, outcome)
    return row_kernel.MORE


@part
def _add_schema_change(image, index, place, size, rows, transactions, state):
    """Add the row of a schema change to the open transaction. It does not count as a change of a
    row: it has the ordinal of the next change, and comes before its parts."""
    row_kernel.open_transaction(transactions, state)
    state[row_kernel.TRANSACTION_HAS_ROWS] = 1
    part = state[PENDING]
    row_kernel.add_row(rows, state, 0, image, 0, place, part, 0, size, index, SCHEMA_CHANGE, 0)
    state[PENDING] = part + 1
    return row_kernel.MORE


@part
def _serial(kind, place, state):
    """Return the number, from 1, of a change among those with its place; 0 for a schema change."""
    if kind == SCHEMA_CHANGE:
        return 0
    if state[HAS_CHANGE] and state[CHANGE] == place:
        return state[SERIAL] + 1
    return 1


@part
def _is_above(place, other):
    """Whether a number is above another one of its transaction, by their lower halves, which may
    wrap around to 0 (see `DeliveredChange`). Differences of signed integers must not overflow: the
    compiler replaces `a - b > 0` by `a > b`."""
    difference = np.uint64(place) - np.uint64(other)
    return difference != 0 and difference < _HALF


@part
def _resume(place, state):
    """Raise the ordinals after the last delivered change of the open transaction above those that
    an earlier process used, whatever tables it captured."""
    least = state[RESUMED_ORDINAL]
    if (
        state[RESUMES]
        and state[row_kernel.POSITION_HIGH] == state[RESUMED_HIGH]
        and state[row_kernel.POSITION_LOW] == state[RESUMED_LOW]
        and _is_above(place, state[RESUMED_CHANGE])
        and state[row_kernel.ORDINAL] < least
    ):
        state[row_kernel.ORDINAL] = least


@part
def _number_rows(rows, first, kind, place, serial, state):
    """Number the rows of a segment from `first` on, which a change made: their parts come after
    those of the schema changes before it."""
    pending = state[PENDING]
    for number in range(first, state[row_kernel.ROWS]):
        row = rows + _ROW_SIZE * number
        if load8(row + _OPERATION) != BEGIN:
            store32(row + _SERIAL, serial)
            if kind != SCHEMA_CHANGE:
                store64(row + _PART, load64(row + _PART) + pending)
    if kind != SCHEMA_CHANGE:
        state[PENDING] = 0
    state[HAS_CHANGE] = 1
    state[CHANGE] = place
    state[SERIAL] = serial


@part
def _end_of_image(image):
    """Return the end of an image of one text."""
    return image + 2 + 5 + load32_be(image + 3)


@part
def _add_change(
    frame, virtual, size, kind,
    rows, transactions, relations, options, scratch, state,
):  # fmt: skip
    """Add the rows of the change in a frame. Returns MORE, KEY or BROKEN."""
    if size < CHANGE_HEAD_BYTES + 7 or load16_be(frame + CHANGE_HEAD_BYTES) != 1:
        return row_kernel.BROKEN
    body, stop, extra = frame + HEAD_BYTES, frame + size, frame + CHANGE_HEAD_BYTES
    images = _end_of_image(extra)
    if images > stop:
        return row_kernel.BROKEN
    index, place = load32_be(body), load64_be(body + 4 + ORDER_BYTES // 2)
    first = state[row_kernel.ROWS]
    serial = _serial(kind, place, state)
    _resume(place, state)
    add_late_begin(rows, transactions, state)
    state[row_kernel.EXTRA] = extra + virtual
    if kind == SCHEMA_CHANGE:
        status = _add_schema_change(images + virtual, index, place, size, rows, transactions, state)
    elif kind == WITHOUT_OLD:
        status = _add_update_without_old(
            images, stop, virtual, index, place, size,
            rows, transactions, relations, options, scratch, state,
        )  # fmt: skip
    else:
        status = add_images(
            images, stop, virtual, kind, index, place, size,
            rows, transactions, relations, options, scratch, state,
        )  # fmt: skip
    state[row_kernel.EXTRA] = 0
    if status == row_kernel.MORE:
        _number_rows(rows, first, kind, place, serial, state)
    take_back_beginning(state, first)
    return status


@entry
def index_frame(frame, virtual, rows, transactions, ends, relations, options, scratch, state):
    """See FrameReader.frame_kernel. Returns MORE, KEY or BROKEN."""
    size, kind, body = load32_be(frame), frame_kind(frame), frame + HEAD_BYTES
    if kind == _BEGINS:
        state[HAS_CHANGE] = 0
        state[PENDING] = 0
        return begin_late(frame, virtual, rows, transactions, state)
    if kind == _ENDS:
        end_late(rows, transactions, ends, state, size)
        return row_kernel.MORE
    if kind == _SYNCHPOINT:
        advance(state, load64_be(body), load64_be(body + 8))
        return row_kernel.MORE
    return _add_change(
        frame, virtual, size, kind,
        rows, transactions, relations, options, scratch, state,
    )  # fmt: skip
