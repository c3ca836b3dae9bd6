"""Holds the changes of open transactions: rows of redo, in order, in chunks of each transaction.

A change is held as the frame that is written to the segment (frames.py), after a head of its own. A
rollback to a savepoint marks changes as cancelled, from the newest on; a rollback frees the held
changes, a commit passes the transaction on to `write_kernel.py`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.images import put_head, put_null, put_text_head, store32_be
from headrace.connect.kernels.functions import entry, inlined_part, part
from headrace.connect.kernels.memory import copy, load8, load64, store64
from headrace.connect.kernels.text import mix, put_int
from headrace.connectors.oracle.events import EXTRA_CELLS
from headrace.connectors.oracle.redo.statement_kernel import (
    CELL_ROOM,
    COLUMNS,
    OPERATION,
    put_statement,
)
from headrace.connectors.oracle.streaming.frames import CHANGE_HEAD_BYTES
from headrace.connectors.oracle.streaming.transactions.chunk_kernel import (
    CHUNK_HEAD_BYTES,
    CLASSES,
    GAP,
    NEXT,
    SMALLEST,
    WRITTEN,
    end_of_chunk,
    free_chunks,
    take_chunk,
    take_huge,
)
from headrace.streaming.changes.kernels import frame_kernel

# A row of redo: int64 words. Texts are addresses and bytes (address 0: null).
(
    ACTION,
    SCN,
    XID,
    US,  # microseconds since 1970
    THREAD,
    USER,  # the number of its user's name, and of its client's; -1: it has none
    CLIENT,
    RELATION,
    KIND,  # of the frame
    IMAGES,  # or the statement that has to be read, if there is a TABLE
    IMAGES_BYTES,
    TABLE,  # address of the statement's table, see statement_kernel; 0: IMAGES has images
    ROW_HASH,  # of its row id
    RS_ID,
    RS_ID_BYTES,
    ROW_ID,
    ROW_ID_BYTES,
    REDO,
    REDO_BYTES,
    SSN,  # -1: it is not shown
    MARK,  # 1: Python reads the transaction before it is written
) = range(21)
EFFECT_WORDS = 21
ROW_SIZE = 8 * EFFECT_WORDS

NOTHING, STARTS, CHANGES, CANCELS, COMMITS, ENDS, LACKING_STATEMENT, APART = range(8)
"""Effects of a row. ENDS drops a transaction, like a rollback. `row_effects` handles the last two
before rows are held: changes without a statement, rows of a value apart from its row."""

# A transaction: int64 words.
(
    STATE,
    ID,
    START,  # SCN of its first row
    START_US,
    FIRST,  # chunk
    LAST,
    NEWEST,  # entry that is not cancelled
    ENTRIES,
    LIVE,  # entries that are not cancelled
    BYTES,
    BY_USER,
    BY_CLIENT,
    COMMIT,  # SCN
    COMMITTED_US,
    REDO_THREAD,
    MARKED,
    LAST_END,  # where the last chunk ends
    FOLLOWING,  # the next transaction that is free
) = range(18)
TRANSACTION_WORDS = 18
TRANSACTION_SIZE = 8 * TRANSACTION_WORDS

FREE, OPEN, COMMITTED, ABANDONED = range(4)
"""States of a transaction."""

# An entry in a chunk: the address of the entry before it in its transaction that was not cancelled,
# the hash of the row's id, whether it is cancelled, and the bytes of its frame; then its frame.
BEFORE, HASH, CANCELLED, SIZE = 0, 8, 16, 24
ENTRY_HEAD_BYTES = 32

# Words of the buffer's state.
(
    DONE,  # rows of the batch that are held
    LACKING,  # bytes of the huge block that is needed; 0: an ordinary one is
    FREE_TRANSACTION,  # number of the first one; -1: none
    OPEN_COUNT,
    PENDING_COUNT,  # transactions that were committed and not taken yet
    UNMATCHED,  # cancelling rows without a change to cancel
    ABANDONED_COUNT,
    THRESHOLD,  # changes at which a transaction is given up; 0: none
    HELD_BYTES,
    ROLLED_BACK,
    CANCELLED_COUNT,
    FILTERED,  # transactions of users and clients that are not captured
    USED,  # transactions after this number were never open
) = range(13)
UNRESOLVED, UNMATCHED_SCN, UNRESOLVED_SCN = 13, 14, 16  # their transactions' ids are after the SCNs
"""Ends of transactions without a sequence, if none or several are open; the last rows."""
BUFFER_WORDS = 18

ALL_HELD, LACKS_MEMORY, ODD_STATEMENT = range(3)
_HELD, _ODD = 1, -1

_UNKNOWN = 0xFFFFFFFF
_EXTRA_CELLS = EXTRA_CELLS
_I, _D = b"id"


@part
def _slot(table, mask, transactions, xid):
    """Return the slot of a transaction in the hash table, or the one where it belongs."""
    slot = mix(np.int64(0x9E3779B9), xid) & mask
    while True:
        number = table[slot]
        if number == 0 or load64(transactions + TRANSACTION_SIZE * (number - 1) + 8 * ID) == xid:
            return slot
        slot = (slot + 1) & mask


@part
def _forget(table, mask, transactions, slot):
    """Remove an entry from the hash table; those after it move up."""
    hole = slot
    table[hole] = 0
    at = (hole + 1) & mask
    while True:
        number = table[at]
        if number == 0:
            return
        xid = load64(transactions + TRANSACTION_SIZE * (number - 1) + 8 * ID)
        home = mix(np.int64(0x9E3779B9), xid) & mask
        if ((at - home) & mask) >= ((at - hole) & mask):
            table[hole] = number
            table[at] = 0
            hole = at
        at = (at + 1) & mask


@part
def _number_of(table, mask, transactions, count, xid):
    """Return the number of an open transaction; -1 if it is not open. If LogMiner does not know the
    sequence of an id, the only one with the same segment and slot."""
    number = table[_slot(table, mask, transactions, xid)]
    if number:
        return number - 1
    if (xid & _UNKNOWN) != _UNKNOWN:
        return np.int64(-1)
    same = np.int64(-1)
    for slot in range(count):
        transaction = transactions + TRANSACTION_SIZE * slot
        state = transaction[STATE]
        if state in (OPEN, ABANDONED) and (transaction[ID] >> 32) == (xid >> 32):
            if same >= 0:
                return np.int64(-1)
            same = np.int64(slot)
    return same


@part
def _opened(table, mask, transactions, buffer, xid, scn, us):
    """Open a transaction, for which there is room; returns its number."""
    number = buffer[FREE_TRANSACTION]
    transaction = transactions + TRANSACTION_SIZE * number
    buffer[FREE_TRANSACTION] = transaction[FOLLOWING]
    buffer[USED] = max(buffer[USED], number + 1)
    for word in range(TRANSACTION_WORDS):
        transaction[word] = 0
    transaction[STATE] = OPEN
    transaction[ID] = xid
    transaction[START] = scn
    transaction[START_US] = us
    transaction[BY_USER] = -1
    transaction[BY_CLIENT] = -1
    table[_slot(table, mask, transactions, xid)] = number + 1
    buffer[OPEN_COUNT] += 1
    return number


@part
def empty_transaction(transaction, buffer, memory):
    """Free the held changes of a transaction."""
    free_chunks(memory, transaction[FIRST])
    held_bytes = buffer[HELD_BYTES] - transaction[BYTES]
    buffer[HELD_BYTES] = held_bytes
    for word in (FIRST, LAST, NEWEST, ENTRIES, LIVE, BYTES, LAST_END):
        transaction[word] = 0


@entry
def release_transaction(number, transactions, buffer, memory):
    """Free a transaction that is no longer in the hash table."""
    transaction = transactions + TRANSACTION_SIZE * number
    empty_transaction(transaction, buffer, memory)
    transaction[STATE] = FREE
    transaction[FOLLOWING] = buffer[FREE_TRANSACTION]
    buffer[FREE_TRANSACTION] = number


@part
def _close(table, mask, transactions, buffer, number):
    """Remove a transaction from the open ones."""
    xid = load64(transactions + TRANSACTION_SIZE * number + 8 * ID)
    _forget(table, mask, transactions, _slot(table, mask, transactions, xid))
    buffer[OPEN_COUNT] -= 1


@entry
def drop_transaction(table, mask, transactions, buffer, memory, number):
    """Drop an open transaction and its held changes."""
    _close(table, mask, transactions, buffer, number)
    release_transaction(number, transactions, buffer, memory)
    return np.int64(0)


@entry
def abandon_transaction(transaction, buffer, memory):
    """Free the held changes of an open transaction, whose later changes are left out."""
    empty_transaction(transaction, buffer, memory)
    transaction[STATE] = ABANDONED
    buffer[ABANDONED_COUNT] += 1
    return np.int64(0)


@part
def _room(transaction, memory, buffer, size):
    """Return the place for an entry of `size` bytes; 0: memory is lacking."""
    last = transaction[LAST]
    if last:
        at = load64(last + WRITTEN)
        if at + size + GAP <= transaction[LAST_END]:
            return at
    needed = size + CHUNK_HEAD_BYTES + GAP
    number = np.int64(0)
    while number < CLASSES and (1 << (SMALLEST + number)) < needed:
        number += 1
    if number == CLASSES:
        chunk = take_huge(memory, needed)
        if chunk == 0:
            buffer[LACKING] = needed
            return np.int64(0)
    else:
        held_bytes = transaction[BYTES]
        while number + 1 < CLASSES and (1 << (SMALLEST + number)) <= held_bytes:
            number += 1
        chunk = take_chunk(memory, number)
        if chunk == 0:
            buffer[LACKING] = 0
            return np.int64(0)
    if last:
        store64(last + NEXT, chunk)
    else:
        transaction[FIRST] = chunk
    transaction[LAST] = chunk
    transaction[LAST_END] = end_of_chunk(memory, chunk)
    return chunk + CHUNK_HEAD_BYTES


@part
def _put_text(out, text, length):
    """Write a text's cell, or a null cell; returns its end."""
    if text == 0:
        return put_null(out)
    return copy(text, length, put_text_head(out, length))


@part
def _put_extra(out, row):
    """Write the row's own image, see events.py; returns its end."""
    out = put_head(out, _EXTRA_CELLS)
    out = _put_text(out, row[RS_ID], row[RS_ID_BYTES])
    out = _put_text(out, row[ROW_ID], row[ROW_ID_BYTES])
    out = _put_text(out, row[REDO], row[REDO_BYTES])
    ssn = row[SSN]
    if ssn < 0:
        return put_null(out)
    text = put_text_head(out, 0)
    end = put_int(ssn, text)
    put_text_head(out, end - text)
    return end


@inlined_part
def _most_bytes(row, table):
    """Return the most bytes that a row's images take."""
    size = row[IMAGES_BYTES]
    if table == 0:
        return size
    size += CELL_ROOM * load64(table + COLUMNS) + CELL_ROOM
    first = load8(row[IMAGES])
    # Creates and deletes have one image.
    return size if first in (_I, _D) else 2 * size


@part
def _hold(transaction, row, memory, buffer, scratch, most_columns):
    """Hold a change; returns _HELD, _ODD, or 0 if memory is lacking."""
    texts = row[RS_ID_BYTES] + row[ROW_ID_BYTES] + row[REDO_BYTES]
    table = row[TABLE]
    most = ENTRY_HEAD_BYTES + CHANGE_HEAD_BYTES + 60 + texts + _most_bytes(row, table)
    entry = _room(transaction, memory, buffer, most)
    if entry == 0:
        return np.int64(0)
    frame = entry + ENTRY_HEAD_BYTES
    body = frame + frame_kernel.FRAME_HEAD_BYTES
    store32_be(body, row[RELATION])
    body = frame_kernel.put_number(body + 4, row[SCN])
    body = frame_kernel.put_number(body, row[US])
    end = _put_extra(body, row)
    images, size, kind = row[IMAGES], row[IMAGES_BYTES], np.int64(0)
    if table:
        end = put_statement(images, images + size, table, scratch, most_columns, end)
        if end < 0:
            return np.int64(_ODD)
        kind = load64(scratch + OPERATION)
    else:
        end = copy(images, size, end)
        kind = row[KIND]
    frame_kernel.put_frame_head(frame, end, kind)
    store64(entry + BEFORE, transaction[NEWEST])
    store64(entry + HASH, row[ROW_HASH])
    store64(entry + CANCELLED, 0)
    store64(entry + SIZE, end - frame)
    store64(transaction[LAST] + WRITTEN, end)
    transaction[NEWEST] = entry
    transaction[ENTRIES] += 1
    transaction[LIVE] += 1
    transaction[BYTES] = transaction[BYTES] + end - entry
    buffer[HELD_BYTES] = buffer[HELD_BYTES] + end - entry
    if row[MARK]:
        transaction[MARKED] = 1
    return np.int64(_HELD)


@part
def _cancel(transaction, row_hash):
    """Cancel a row's newest change that is not cancelled yet; returns whether there was one."""
    entry = transaction[NEWEST]
    while entry:
        if load64(entry + CANCELLED) == 0 and load64(entry + HASH) == row_hash:
            store64(entry + CANCELLED, 1)
            transaction[LIVE] -= 1
            newest = transaction[NEWEST]
            while newest and load64(newest + CANCELLED):
                newest = load64(newest + BEFORE)
            transaction[NEWEST] = newest
            return True
        entry = load64(entry + BEFORE)
    return False


@part
def _is_left_out(transaction, users, clients):
    """Whether a transaction's user or client is not captured. `users` and `clients`: a byte for
    each name, 0 if it is not."""
    user, client = transaction[BY_USER], transaction[BY_CLIENT]
    return (user >= 0 and load8(users + user) == 0) or (
        client >= 0 and load8(clients + client) == 0
    )


@part
def _count(buffer, word):
    buffer[word] += 1


@part
def _count_lost(buffer, word, scn_word, row):
    _count(buffer, word)
    buffer[scn_word] = row[SCN]
    buffer[scn_word + 1] = row[XID]


@part
def _commit(
    row, number, table, mask, transactions, buffer, memory, pending, users, clients,
):  # fmt: skip
    """Commit an open transaction: it waits to be written, if it holds changes."""
    transaction = transactions + TRANSACTION_SIZE * number
    _close(table, mask, transactions, buffer, number)
    is_left_out = _is_left_out(transaction, users, clients)
    if is_left_out and transaction[LIVE]:
        _count(buffer, FILTERED)
    if is_left_out or transaction[STATE] == ABANDONED or transaction[LIVE] == 0:
        release_transaction(number, transactions, buffer, memory)
        return
    transaction[STATE] = COMMITTED
    transaction[COMMIT] = row[SCN]
    transaction[COMMITTED_US] = row[US]
    transaction[REDO_THREAD] = row[THREAD]
    if (row[XID] & _UNKNOWN) != _UNKNOWN:
        transaction[ID] = row[XID]
    waiting = buffer[PENDING_COUNT]
    pending[waiting] = number
    buffer[PENDING_COUNT] = waiting + 1


@part
def _know(transaction, row):
    """Set a transaction's user and client from a row, unless an earlier row did."""
    if transaction[BY_USER] < 0:
        transaction[BY_USER] = row[USER]
    if transaction[BY_CLIENT] < 0:
        transaction[BY_CLIENT] = row[CLIENT]


@entry
def hold_rows(
    rows, first, last, table, mask, transactions, count, buffer, memory, pending, users, clients,
    scratch, most_columns,
):  # fmt: skip
    """Hold the rows [first, last). There is room for as many more transactions, in `transactions`
    (`count` of them), `table` (mask + 1 words) and `pending`; `scratch` and `most_columns` are
    arguments of `put_statement`. Returns ALL_HELD; or LACKS_MEMORY, or ODD_STATEMENT if the images
    of the row buffer[DONE] have to be made elsewhere; then it is called again from buffer[DONE]
    on."""
    for number_of_row in range(first, last):
        row = rows + ROW_SIZE * number_of_row
        action, xid = row[ACTION], row[XID]
        buffer[DONE] = number_of_row
        if action == NOTHING:
            continue
        number = _number_of(table, mask, transactions, count, xid)
        if number < 0 and action != STARTS:
            # Earlier rows may be held under an id without the sequence.
            number = table[_slot(table, mask, transactions, xid | _UNKNOWN)] - 1
        if action in (STARTS, CHANGES):
            if number < 0:
                scn, us = row[SCN], row[US]
                number = _opened(table, mask, transactions, buffer, xid, scn, us)
            elif action == STARTS:
                # The transaction is mined again.
                empty_transaction(transactions + TRANSACTION_SIZE * number, buffer, memory)
                store64(transactions + TRANSACTION_SIZE * number + 8 * STATE, OPEN)
            transaction = transactions + TRANSACTION_SIZE * number
            _know(transaction, row)
            if action == CHANGES and transaction[STATE] == OPEN:
                threshold = buffer[THRESHOLD]
                if threshold and transaction[ENTRIES] + 1 >= threshold:
                    abandon_transaction(transaction, buffer, memory)
                else:
                    outcome = _hold(transaction, row, memory, buffer, scratch, most_columns)
                    if outcome != _HELD:
                        return LACKS_MEMORY if outcome == 0 else ODD_STATEMENT
        elif number < 0:
            if action == CANCELS:
                _count_lost(buffer, UNMATCHED, UNMATCHED_SCN, row)
            elif (xid & _UNKNOWN) == _UNKNOWN:
                _count_lost(buffer, UNRESOLVED, UNRESOLVED_SCN, row)
        elif action == CANCELS:
            transaction = transactions + TRANSACTION_SIZE * number
            if _cancel(transaction, row[ROW_HASH]):
                _count(buffer, CANCELLED_COUNT)
            elif transaction[STATE] == OPEN:
                _count_lost(buffer, UNMATCHED, UNMATCHED_SCN, row)
        elif action == COMMITS:
            _commit(row, number, table, mask, transactions, buffer, memory, pending, users, clients)
        else:
            drop_transaction(table, mask, transactions, buffer, memory, number)
            _count(buffer, ROLLED_BACK)
    buffer[DONE] = last
    return ALL_HELD


@entry
def enter(table, mask, transactions, numbers, count):
    """Enter transactions, by their numbers, into a hash table that has none of them."""
    for at in range(count):
        number = numbers[at]
        xid = load64(transactions + TRANSACTION_SIZE * number + 8 * ID)
        table[_slot(table, mask, transactions, xid)] = number + 1
