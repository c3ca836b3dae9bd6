"""Writes committed transactions as frames, as far as there is room, and frees their memory."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.images import put_head, put_null, put_text_head
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.memory import copy, load64, load64_be, store8
from headrace.connect.kernels.text import put_int
from headrace.connectors.oracle.events import TRANSACTION_CELLS
from headrace.connectors.oracle.streaming.frames import (
    BEGINS,
    END_FRAME_BYTES,
    ENDS,
)
from headrace.connectors.oracle.streaming.transactions.chunk_kernel import (
    CHUNK_HEAD_BYTES,
    NEXT,
    WRITTEN,
    free_chunk,
)
from headrace.connectors.oracle.streaming.transactions.hold_kernel import (
    BY_USER,
    CANCELLED,
    COMMIT,
    COMMITTED_US,
    ENTRY_HEAD_BYTES,
    FIRST,
    ID,
    REDO_THREAD,
    SIZE,
    START_US,
    TRANSACTION_SIZE,
    release_transaction,
)
from headrace.streaming.changes.kernels.frame_kernel import (
    BEGIN_BYTES,
    FRAME_HEAD_BYTES,
    put_frame_head,
    put_number,
    put_place,
)

# The cursor of writing: the transaction among those that are ready, its next part (AT_BEGINNING, or
# an entry), and how many bytes of that entry's frame are written.
TRANSACTION, ENTRY, PART = range(3)
CURSOR_WORDS = 3
AT_BEGINNING = 0

SHOWS_USER, SHOWS_COMMIT_TIME, SHOWS_START_TIME = 1, 2, 4
"""Bits of `options`."""

LARGEST_BEGINNING = 2048
"""Bytes of the frame that a transaction begins with, without its user's name."""

_TRANSACTION_CELLS = TRANSACTION_CELLS
_LETTER, _ZERO, _NINE = ord("a") - 10, ord("0"), 9
_DIGITS = 16


@part
def _put_int_text(out, number):
    """Write a number's cell; returns its end."""
    text = out + 5
    end = put_int(number, text)
    put_text_head(out, end - text)
    return end


@part
def _put_hexadecimal(out, number):
    """Write the cell of 16 hexadecimal digits; returns its end."""
    out = put_text_head(out, _DIGITS)
    for digit in range(_DIGITS):
        value = (number >> (60 - 4 * digit)) & 15
        store8(out + digit, value + (_ZERO if value <= _NINE else _LETTER))
    return out + _DIGITS


@part
def _first_live(transaction):
    """Return the first entry that is not cancelled; there is one."""
    chunk = transaction[FIRST]
    while True:
        entry = chunk + CHUNK_HEAD_BYTES
        end = load64(chunk + WRITTEN)
        while entry < end:
            if load64(entry + CANCELLED) == 0:
                return entry
            entry += ENTRY_HEAD_BYTES + load64(entry + SIZE)
        chunk = load64(chunk + NEXT)


@part
def _put_beginning(out, transaction, users, options):
    """Write the frame of a transaction's beginning; returns its end. `users`: address and bytes of
    each user's name."""
    body = _first_live(transaction) + ENTRY_HEAD_BYTES + FRAME_HEAD_BYTES + 4
    start, start_us = load64_be(body), load64_be(body + 8)
    xid, commit = transaction[ID], transaction[COMMIT]
    end = put_number(put_place(out + FRAME_HEAD_BYTES, commit, xid), start_us)
    end = _put_hexadecimal(put_head(end, _TRANSACTION_CELLS), xid)
    end = _put_int_text(end, commit)
    end = _put_int_text(end, transaction[REDO_THREAD])
    user = transaction[BY_USER]
    if user >= 0 and options & SHOWS_USER:
        length = load64(users + 16 * user + 8)
        end = copy(load64(users + 16 * user), length, put_text_head(end, length))
    else:
        end = put_null(end)
    if options & SHOWS_COMMIT_TIME:
        end = _put_int_text(end, transaction[COMMITTED_US] // 1000)
    else:
        end = put_null(end)
    end = _put_int_text(end, start)
    end = _put_int_text(end, start_us // 1000) if options & SHOWS_START_TIME else put_null(end)
    put_frame_head(out, end, BEGINS)
    return end


@entry
def write_ready(ready, count, cursor, transactions, buffer, memory, users, options, out, room):
    """Write the frames of `count` transactions (their numbers at `ready`) from the cursor on, as
    many bytes of them as there is room for; a frame may be split. Returns the number of bytes
    written."""
    start = out
    stop = out + room
    while cursor[TRANSACTION] < count:
        number = ready[cursor[TRANSACTION]]
        transaction = transactions + TRANSACTION_SIZE * number
        entry = cursor[ENTRY]
        if entry == AT_BEGINNING:
            user = transaction[BY_USER]
            name = load64(users + 16 * user + 8) if user >= 0 else 0
            if stop - out < BEGIN_BYTES + LARGEST_BEGINNING + name:
                return out - start
            out = _put_beginning(out, transaction, users, options)
            entry = transaction[FIRST] + CHUNK_HEAD_BYTES
        chunk = transaction[FIRST]
        while chunk:
            end = load64(chunk + WRITTEN)
            while entry < end:
                size = load64(entry + SIZE)
                if load64(entry + CANCELLED) == 0:
                    part = cursor[PART]
                    length = min(size - part, stop - out)
                    out = copy(entry + ENTRY_HEAD_BYTES + part, length, out)
                    if part + length < size:
                        cursor[PART] = part + length
                        cursor[ENTRY] = entry
                        return out - start
                    cursor[PART] = 0
                entry += ENTRY_HEAD_BYTES + size
            following = load64(chunk + NEXT)
            if following == 0:
                break
            transaction[FIRST] = following
            free_chunk(memory, chunk)
            chunk = following
            entry = chunk + CHUNK_HEAD_BYTES
        if stop - out < END_FRAME_BYTES:
            cursor[ENTRY] = entry
            return out - start
        put_number(out + FRAME_HEAD_BYTES, transaction[START_US])
        put_frame_head(out, out + END_FRAME_BYTES, ENDS)
        out += END_FRAME_BYTES
        release_transaction(number, transactions, buffer, memory)
        cursor[ENTRY] = AT_BEGINNING
        cursor[TRANSACTION] += 1
    return out - start
